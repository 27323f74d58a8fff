"""The sanitizer's rules written down one by one, without any thought of speed, streams or memory."""

import re
import unicodedata

REMOVED = {
    *(0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)),
    *(0x00AD, 0x034F, 0x115F, 0x1160, 0x180E, 0x200B, *range(0x2060, 0x2065), 0x3164, 0xFEFF, 0xFFA0),
    *(0xFFF9, 0xFFFA, 0xFFFB),
    *range(0xE0000, 0xE1000),
}
JOINERS = "\u200c\u200d"
SELECTORS = "\u180b\u180c\u180d\u180f" + "".join(map(chr, range(0xFE00, 0xFE10)))


def is_mark(char: str) -> bool:
    return unicodedata.category(char) in ("Mn", "Mc", "Me")


class Reference:
    def __init__(self, text: str) -> None:
        self.text = re.sub("[\ud800-\udfff]", "\ufffd", text)
        self.lines: list[str] = []
        self.cells: list[str] = []
        self.at = 0
        self.concealed = False

    def result(self) -> str:
        position = 0
        while position < len(self.text):
            position = self.step(position)
        return "".join(line + "\n" for line in self.lines) + self.line()

    def step(self, position: int) -> int:
        char = self.text[position]
        if char == "\x1b":
            return self.escape(position + 1)
        if char == "\x9b":
            return self.control_sequence(position + 1)
        if char in "\x90\x98\x9d\x9e\x9f":
            return self.string(position + 1, bell=char == "\x9d")
        self.execute(char)
        return position + 1

    def execute(self, char: str) -> None:
        if char in "\n\x0b\x0c\x84\x85\u2028\u2029":
            self.lines.append(self.line())
            self.cells, self.at = [], 0
        elif char == "\r":
            self.at = 0
        elif char == "\b":
            self.at = max(0, self.at - 1)
        elif char == "\t" or (char >= " " and not "\x7f" <= char <= "\x9f" and ord(char) not in REMOVED):
            self.put(char)

    def escape(self, position: int) -> int:
        whole = re.compile(r"[ -/]*").match(self.text, position)
        assert whole
        last = whole.end()
        if last == len(self.text) or not "0" <= self.text[last] <= "~":
            return last
        final = self.text[last]
        if whole.group():
            return last + 1
        if final == "[":
            return self.control_sequence(last + 1)
        if final in "]PX^_":
            return self.string(last + 1, bell=final == "]")
        if final in "DE":
            self.execute("\n")
        return last + 1

    def string(self, position: int, *, bell: bool) -> int:
        while position < len(self.text):
            char = self.text[position]
            if char == "\x1b":
                return position + 2 if self.text[position + 1 : position + 2] == "\\" else position
            position += 1
            if char in "\x18\x1a\x9c" or (bell and char == "\x07"):
                break
        return position

    def control_sequence(self, position: int) -> int:
        taken = ""
        while position < len(self.text):
            char = self.text[position]
            if char == "\x1b" or char >= "\x80":
                return position
            position += 1
            if "@" <= char <= "~":
                if len(taken) <= 256:
                    self.act(taken, char)
                return position
            if char in "\x18\x1a":
                return position
            if " " <= char <= "?":
                taken += char
            else:
                self.execute(char)
        return position

    def act(self, taken: str, final: str) -> None:
        if final == "m" and re.fullmatch("[0-9;:]*", taken):
            self.attributes(taken.split(";"))
            return
        if not re.fullmatch("[0-9;]*", taken):
            return
        given = min(int(taken.split(";")[0] or 0), 4096)
        count = max(given, 1)
        if final in "G`":
            self.at = count - 1
        elif final == "C":
            self.at += count
        elif final == "D":
            self.at = max(0, self.at - count)
        elif final == "K" and given == 0:
            del self.cells[self.at :]
        elif final == "K" and given == 1:
            self.blank(0, self.at + 1)
        elif final == "K" and given == 2:
            self.cells = []
        elif final == "P":
            del self.cells[self.at : self.at + count]
        elif final == "@" and self.at < len(self.cells):
            self.cells[self.at : self.at] = [" "] * count
        elif final == "X":
            self.blank(self.at, self.at + count)

    def blank(self, start: int, end: int) -> None:
        for cell in range(start, min(end, len(self.cells))):
            self.cells[cell] = " "

    def attributes(self, codes: list[str]) -> None:
        while codes:
            code = codes.pop(0)
            if ":" in code:
                continue
            number = int(code or 0)
            if number in (38, 48, 58):
                kind = codes.pop(0) if codes else ""
                if ":" not in kind:
                    del codes[: {5: 1, 2: 3}.get(int(kind or 0), 0)]
            elif number == 8:
                self.concealed = True
            elif number in (0, 28):
                self.concealed = False

    def put(self, char: str) -> None:
        self.cells += [" "] * (self.at - len(self.cells))
        if self.concealed and char != "\t":
            if is_mark(char) or char in JOINERS:
                return
            char = " "
        before = self.cells[self.at - 1] if self.at else ""
        if char in JOINERS:
            if before and not before[-1].isascii() and before[-1] not in JOINERS:
                self.cells[self.at - 1] += char
            return
        if before and char in SELECTORS and before[-1] in SELECTORS:
            return
        joined = before[-1:] == "\u200d" and (unicodedata.category(char) == "So" or char == "↔")
        if before and len(before) < 64 and (is_mark(char) or joined):
            self.cells[self.at - 1] += char
            return
        self.cells[self.at : self.at + 1] = [char]
        self.at += 1

    def line(self) -> str:
        text = "".join(self.cells)
        kept = ""
        for at, char in enumerate(text):
            if char in SELECTORS and at and text[at - 1] in SELECTORS:
                continue
            if char in JOINERS and (at + 1 == len(text) or text[at + 1].isascii()):
                continue
            kept += char
        return kept.rstrip(" ")


def reference(data: bytes | str) -> str:
    return Reference(data if isinstance(data, str) else data.decode(errors="replace")).result()
