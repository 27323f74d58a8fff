"""Characters that deceive a reader: bidirectional controls, invisible ones and odd blanks.

One list for all code that refuses, removes or shows them (safety-policy.md C1).
"""

import re

# Written as escapes on purpose: the characters themselves would deceive the reader of this file.
BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
INVISIBLE = "\u00ad\u034f\u115f\u1160\u180e\u200b-\u200d\u2060-\u2064\u3164\ufeff\uffa0\U000e0000-\U000e0fff"
# Ignored by some file systems or by most fonts, harmless in ordinary text.
IGNORABLE = "\u180b-\u180d\u206a-\u206f\ufe00-\ufe0f"
BLANKS = "\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u2800\u3000"
# Everything but TAB, LF and CR; whether a CR is plain depends on its neighbour.
CONTROLS = "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"

bidi = re.compile(f"[{BIDI}]")
blanks = re.compile(f"[{BLANKS}]")
controls = re.compile(f"[{CONTROLS}]")
# A joiner between two non-ASCII characters belongs to an emoji or to a script that needs it.
invisible = re.compile(
    f"(?![\u200c\u200d])[{INVISIBLE}]|(?<![^\\x00-\\x7f])[\u200c\u200d]|[\u200c\u200d](?![^\\x00-\\x7f])"
)
ignored = re.compile(f"[{BIDI}{INVISIBLE}{IGNORABLE}]")
"""The characters that a file name may contain without looking different."""
