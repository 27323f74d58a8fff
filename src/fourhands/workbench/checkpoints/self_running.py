"""Files that programs of the person obey merely because they are there: a new one is shown apart."""

NAMES = frozenset(
    {
        ".claude",
        ".cursor",
        ".devcontainer",
        ".envrc",
        ".fourhands",
        ".gitmodules",
        ".husky",
        ".idea",
        ".mcp.json",
        ".vscode",
    }
)
IN_GIT = ("config", "config.worktree", "hooks", "info")


def runs_by_itself(path: str) -> bool:
    """Return True for a file that is run or obeyed when a person enters or opens the workspace."""
    parts = path.split("/")
    if ".git" in parts:
        inner = parts[parts.index(".git") + 1 :]
        return bool(inner) and inner[0] in IN_GIT and not inner[-1].endswith(".sample")
    return not NAMES.isdisjoint(parts)


def inside_git(path: str) -> bool:
    """Return True for what a repository keeps for itself."""
    return ".git" in path.split("/")
