"""Points each real agent at a scripted model, as its user would: by its own variables and files in its own home."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

OwnModel = Callable[[str, Path], Mapping[str, str]]
"""Writes an agent's files into its home for the model at an address; returns the variables that it needs besides."""

CODEX = """
model = "fake"
model_provider = "fake"
[model_providers.fake]
name = "fake"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
"""


def claude(url: str, home: Path) -> Mapping[str, str]:
    """Claude Code and its ACP adapters."""
    return {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "fake",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "NO_PROXY": "127.0.0.1",
    }


def codex(url: str, home: Path) -> Mapping[str, str]:
    """Codex and its ACP adapter."""
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").write_text(CODEX.replace("{url}", url))
    return {"OPENAI_API_KEY": "fake", "NO_PROXY": "127.0.0.1"}


def gemini(url: str, home: Path, *, trusting: bool = True) -> Mapping[str, str]:
    """Gemini CLI; of a folder that it does not trust it reads no settings, and it then connects to no MCP server."""
    security = {"auth": {"selectedType": "gemini-api-key"}, **({"folderTrust": {"enabled": False}} if trusting else {})}
    settings = {"security": security, "privacy": {"usageStatisticsEnabled": False}}
    (home / ".gemini").mkdir()
    (home / ".gemini" / "settings.json").write_text(json.dumps(settings))
    return {
        "GEMINI_API_KEY": "fake",
        "GOOGLE_GEMINI_BASE_URL": url,
        "GEMINI_MODEL": "gemini-2.5-flash",
        "NO_PROXY": "127.0.0.1",
    }


def opencode(url: str, home: Path) -> Mapping[str, str]:
    """OpenCode."""
    looks = {"attachment": True, "modalities": {"input": ["text", "image"], "output": ["text"]}}
    models = {"fake": {"tool_call": True, **looks, "limit": {"context": 32000, "output": 4000}}}
    options = {"baseURL": f"{url}/v1", "apiKey": "none"}
    provider = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": models}
    known = {"model": "fake/fake", "small_model": "fake/fake", "enabled_providers": ["fake"]}
    settings = {**known, "autoupdate": False, "share": "disabled", "provider": {"fake": provider}}
    (home / "opencode.json").write_text(json.dumps(settings))
    return {
        "OPENCODE_CONFIG": str(home / "opencode.json"),
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
        "OPENCODE_DISABLE_SHARE": "1",
        "NO_PROXY": "127.0.0.1",
    }
