"""Drive a running workbench over HTTP with nothing but the standard library, as a program of yours would.

The person sees every step on the page. Start one first, or let this do it: `python examples/drive_by_http.py`.
"""

import json
import os
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path


class Workbench:
    """The person's own way in: address and token are where `fourhands` put them."""

    def __init__(self, url: str, token: str) -> None:
        self.url, self.token = url, token

    def call(self, command: str, **args: object) -> dict[str, object]:
        """Call a command by its name without `openspace.`; its result, or an error that says what to do."""
        request = urllib.request.Request(
            f"{self.url}/api/commands/openspace.{command}",
            data=json.dumps(args).encode(),
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            result: dict[str, object] = json.load(answer)
        if not result["success"]:
            raise RuntimeError(f"{result['code']}: {result['error']} ({result.get('hint', '')})")
        return result


def drive(bench: Workbench) -> None:
    bench.call("file.write", path="hello.py", content="print('hello', 6 * 7)\n")
    bench.call("editor.open", path="hello.py", line=1)
    bench.call("editor.highlight", path="hello.py", ranges=[{"startLine": 1, "endLine": 1}], label="look here")
    terminal = bench.call("terminal.create", title="demo")["terminalId"]
    bench.call("terminal.send", terminalId=terminal, text="python3 hello.py\n")
    bench.call("terminal.wait", terminalId=terminal, pattern="hello 42", deadlineSeconds=30)
    found = bench.call("terminal.search", terminalId=terminal, pattern="^hello 42")
    print("found:", bool(found["matches"]))


def main() -> None:
    program = [sys.executable, "-c", "from fourhands.app import main; main()"]
    with tempfile.TemporaryDirectory(prefix="fh-", ignore_cleanup_errors=True) as workspace:
        server = subprocess.Popen([*program, workspace, "--no-open", "--port", "0"], stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout is not None
            line = next(line for line in server.stdout if "Open" in line)
            url = line.split()[-1].partition("/#")[0]
            report = subprocess.run([*program, "doctor", "--json", "-w", workspace], capture_output=True, text=True)
            places = {finding["subject"]: finding["text"] for finding in json.loads(report.stdout)}
            token = Path(places["state directory"], "token").read_text()
            drive(Workbench(url, token))
        finally:
            subprocess.run([*program, "stop", "-w", workspace], stdout=subprocess.DEVNULL, env=os.environ)
            server.communicate()


if __name__ == "__main__":
    main()
