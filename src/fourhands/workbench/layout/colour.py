"""The colours a highlight may have: a CSS colour name or a hex value, and nothing else.

The value reaches a style sheet in the page, so whatever is not on this list is refused, not escaped.
"""

import difflib
import re

from fourhands.core.errors import BadArgument
from fourhands.workbench.layout.validation import shown

NAMES = frozenset(
    re.findall(
        r"\w+",
        """
    aliceblue antiquewhite aqua aquamarine azure beige bisque black blanchedalmond blue blueviolet brown burlywood
    cadetblue chartreuse chocolate coral cornflowerblue cornsilk crimson cyan darkblue darkcyan darkgoldenrod darkgray
    darkgreen darkgrey darkkhaki darkmagenta darkolivegreen darkorange darkorchid darkred darksalmon darkseagreen
    darkslateblue darkslategray darkslategrey darkturquoise darkviolet deeppink deepskyblue dimgray dimgrey dodgerblue
    firebrick floralwhite forestgreen fuchsia gainsboro ghostwhite gold goldenrod gray green greenyellow grey honeydew
    hotpink indianred indigo ivory khaki lavender lavenderblush lawngreen lemonchiffon lightblue lightcoral lightcyan
    lightgoldenrodyellow lightgray lightgreen lightgrey lightpink lightsalmon lightseagreen lightskyblue lightslategray
    lightslategrey lightsteelblue lightyellow lime limegreen linen magenta maroon mediumaquamarine mediumblue
    mediumorchid mediumpurple mediumseagreen mediumslateblue mediumspringgreen mediumturquoise mediumvioletred
    midnightblue mintcream mistyrose moccasin navajowhite navy oldlace olive olivedrab orange orangered orchid
    palegoldenrod palegreen paleturquoise palevioletred papayawhip peachpuff peru pink plum powderblue purple
    rebeccapurple red rosybrown royalblue saddlebrown salmon sandybrown seagreen seashell sienna silver skyblue
    slateblue slategray slategrey snow springgreen steelblue tan teal thistle tomato turquoise violet wheat white
    whitesmoke yellow yellowgreen
    """,
    )
)

_HEX = re.compile(r"#(?:[0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})")


def colour(value: object) -> str:
    """Return a colour in small letters if it is one; the error names the nearest."""
    word = value.lower() if isinstance(value, str) and len(value) <= 40 else ""
    if word in NAMES or _HEX.fullmatch(word):
        return word
    near = difflib.get_close_matches(word.replace(" ", "").replace("-", ""), sorted(NAMES), n=1)
    guess = f"did you mean {near[0]!r}? " if near else ""
    raise BadArgument(f"no colour {shown(value)}", hint=f"{guess}a CSS colour name, or #rgb, #rgba, #rrggbb, #rrggbbaa")
