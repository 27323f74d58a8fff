"""The command line: `fourhands`. Each command has `--help`, `--json` and stable exit codes.

Exit codes: 0 done; 1 refused or failed; 2 wrong usage; 3 what it needs is not running or not installed. `terminal run`
ends with the exit code of what it ran; `classify` with 0 for safe, 10 for unknown, 20 for dangerous.
"""
