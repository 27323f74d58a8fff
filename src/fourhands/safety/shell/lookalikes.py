"""Characters in the raw text that deceive a reader (C1), and how to show them."""

import re
import unicodedata

from fourhands.safety.shell.levels import Finding, dangerous, unknown
from fourhands.safety.unicode import BIDI, BLANKS, CONTROLS, IGNORABLE, INVISIBLE, bidi, controls, ignored, invisible

_LONE_CR = re.compile(r"\r(?!\n)")
_SHOW = re.compile(f"[{BIDI}{BLANKS}{CONTROLS}{IGNORABLE}{INVISIBLE}\ud800-\udfff\ue000-\uf8ff]|\r(?!\n)")
_HOST = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://(?:[^/\s@]*@)?([^/\s:?#]+)")
# Letters of other scripts that look like ASCII ones: what NFKC leaves of the confusables that matter for names.
_LOOKALIKES = {
    ord(other): letter
    for letter, others in {
        "a": "аɑαᴀ", "b": "ьЬʙ", "c": "сϲᴄ", "d": "ԁᴅ", "e": "еεᴇҽ", "f": "ƒ", "g": "ɡցɢ",
        "h": "һհʜ", "i": "іιıɩɪ", "j": "јȷᴊ", "k": "κᴋ", "l": "ӏʟ", "m": "ᴍ", "n": "ոɴ",
        "o": "оοօᴏ", "p": "рρᴘ", "q": "ԛ", "r": "гʀ", "s": "ѕꜱ", "t": "τᴛ", "u": "υսᴜ", "v": "νѵᴠ",
        "w": "ԝωᴡ", "x": "хχ", "y": "уγʏ", "z": "ᴢ", "A": "АΑ", "B": "ВΒ", "C": "СϹ", "E": "ЕΕ",
        "H": "НΗ", "I": "ІΙ", "J": "Ј", "K": "КΚ", "M": "МΜ", "N": "Ν", "O": "ОΟ", "P": "РΡ",
        "S": "Ѕ", "T": "ТΤ", "X": "ХΧ", "Y": "ҮΥ", "Z": "Ζ", "-": "‐‑‒–—−", "/": "∕⁄", ".": "․",
    }.items()
    for other in others
}  # fmt: skip


def raw(text: str) -> list[Finding]:
    """Classify the characters of a text."""
    findings: list[Finding] = []
    if found := controls.search(text):
        findings.append(dangerous("C1.1", f"a control character (U+{ord(found.group()):04X})"))
    if _LONE_CR.search(text):
        findings.append(dangerous("C1.1", "a carriage return that hides the text before it"))
    if text.isascii():
        return findings
    if found := bidi.search(text):
        findings.append(dangerous("C1.2", f"a control that changes the reading direction (U+{ord(found.group()):04X})"))
    if found := invisible.search(text):
        findings.append(dangerous("C1.3", f"an invisible character (U+{ord(found.group()):04X})"))
    if any("\ud800" <= sign <= "\udfff" for sign in text):
        findings.append(unknown("C1", "bytes that are not text"))
    return findings


def skeleton(text: str) -> str:
    """Return what a text looks like in ASCII letters, as far as it does."""
    text = unicodedata.normalize("NFKC", ignored.sub("", text)).translate(_LOOKALIKES)
    return "".join(sign for sign in unicodedata.normalize("NFD", text) if not unicodedata.combining(sign))


def name(word: str) -> Finding | None:
    """Classify a command name that is not ASCII."""
    if word.isascii():
        return None
    if skeleton(word).isascii():
        return dangerous("C1.5", f"a command name that only looks like {skeleton(word)!r}")
    return unknown("C1.5", "a command name that is not ASCII")


def hosts(word: str) -> Finding | None:
    """Classify the host of an address that is not ASCII."""
    for host in _HOST.findall(word):
        if host.isascii():
            continue
        letters = [sign for sign in host if sign.isalpha()]
        scripts = {unicodedata.name(sign, "?").split(" ")[0] for sign in letters}
        if len(scripts) > 1 or any(skeleton(sign).isascii() for sign in letters if not sign.isascii()):
            return dangerous("C1.5", f"an address whose host looks like another: {skeleton(host)}")
    return None


def visible(line: str) -> str:
    """Return `line` with every invisible character written as `<U+XXXX>`; TAB and line ends stay."""
    return _SHOW.sub(lambda found: f"<U+{ord(found.group()):04X}>", line)
