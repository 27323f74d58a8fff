"""Configuration: the plugin's, the schema's defaults, an agent's own, and the two lists of commands."""

import pytest
from tests.sources.doors import Doors, like, settings_of
from tests.sources.source_002 import DOCUMENT

from fourhands import FourhandsError, Rules, classify
from fourhands.settings import AgentDefaults, PersistentSettings, Settings
from fourhands.workbench.sessions import SessionSettings

PLUGIN = r"""
[terminal]
safeCommands = [
  'awk', 'cat', 'cd', 'chdir', 'diff', 'echo', 'find', 'git', 'grep',
  'head', 'help', 'hostname', 'id', 'ipconfig', 'tee', 'ls', 'netstat',
  'ps', 'pwd', 'sort', 'tail', 'tree', 'type', 'uname', 'uniq', 'wc',
  'which', 'touch', 'mkdir', 'npm', 'yarn', 'bun', 'tsc', 'node',
  'npx', 'bunx', 'vitest'
]
dangerousCommands = [
  '(^|\s)dd\s',
  '(^|\s)rm.*-.*r',
  '(^|\s)chmod.*-.*r',
  '(^|\s)chown.*-.*r',
  '(^|\s)rmdir\s',
  'find.*-(delete|exec)',
  '(^|\s)sudo\s',
  '(^|\s)del\s',
  '(^|\s)format\s',
  '(^|\s)reboot',
  '(^|\s)shutdown',
  'git.*reset'
]

[terminal.agentDefaults]
provider = 'local'

[terminal.agentDefaults.bash]
cropOutput = 10000
timeoutSeconds = 60

[terminal.providers]
local = { type = 'local' }
"""

AGENT = """
[agents.builder.terminal]
provider = 'local'

[agents.builder.terminal.bash]
cropOutput = 5000
timeoutSeconds = 30

[agents.builder.terminal.persistent]
minInterval = 1
settleInterval = 2
maxInterval = 30
"""


def rules_of(settings: Settings) -> Rules:
    """The lists of a settings file, as lines are judged by them."""
    safety = settings.safety
    return Rules(safe_commands=safety.safe_commands, dangerous_commands=safety.dangerous_commands)


@DOCUMENT.works(
    "configuration plugin",
    "terminal: { agentDefaults, providers, safeCommands, dangerousCommands }",
    "Settings file: taken as it stands, under [terminal]; it means agentDefaults, providers and safety.",
)
async def plugin(doors: Doors) -> None:
    settings = settings_of(PLUGIN)
    defaults = settings.agent_defaults
    assert (defaults.provider, defaults.bash.crop_output, defaults.bash.timeout_s) == ("local", 10_000, 60)
    assert set(settings.providers) == {"local"}
    assert (len(settings.safety.safe_commands), len(settings.safety.dangerous_commands)) == (37, 12)


@DOCUMENT.works(
    "configuration safeCommands",
    "safeCommands: ['git', 'npm', 'tee', 'npx', …]",
    "Settings file: a name on the list is safe, unless the line is dangerous all the same.",
)
async def own_safe_commands(doors: Doors) -> None:
    rules = rules_of(settings_of(PLUGIN))
    for line in ("git commit -m x", "npm install", "tee file", "npx vitest", "ipconfig", "node app.js"):
        assert classify(line, rules).level == "safe", line
        assert classify(line).level == "unknown", line
    assert classify("git push --force", rules).level == "dangerous"


@DOCUMENT.works(
    "configuration dangerousCommands",
    r"dangerousCommands: ['(^|\\s)rmdir\\s', 'find.*-(delete|exec)', 'git.*reset', …]",
    "Settings file: regular expressions; whatever they find in a line is dangerous.",
)
async def own_dangerous_commands(doors: Doors) -> None:
    rules = rules_of(settings_of(PLUGIN))
    lines = ("dd if=a", "rm -r x", "chmod -r x", "chown -r me x", "rmdir x", "find . -exec ls {} +", "sudo ls", "del x")
    for line in (*lines, "format c:", "reboot", "shutdown now", "git reset --soft HEAD~1"):
        assert classify(line, rules).level == "dangerous", line


@DOCUMENT.works(
    "configuration schema, features 4, features 11",
    "cropOutput: default(10000) · timeoutSeconds: default(60)",
    "Settings: the same defaults, also where only a part of bash is set.",
)
async def schema(doors: Doors) -> None:
    defaults = AgentDefaults()
    assert (defaults.bash.crop_output, defaults.bash.timeout_s) == (10_000, 60)
    partly = settings_of("[terminal.agentDefaults.bash]\ncropOutput = 1\n").agent_defaults.bash
    assert (partly.crop_output, partly.timeout_s) == (1, 60)


@DOCUMENT.differs(
    "configuration schema",
    "agentDefaults.provider and providers are required",
    because="Everything has a default; without a file agents' programs run in the strongest sandbox there is.",
    answer="settings that work.",
)
async def schema_nothing_required(doors: Doors) -> None:
    assert settings_of("") == Settings()
    assert settings_of("[terminal.agentDefaults]\n").agent_defaults.provider == "auto"


@DOCUMENT.works(
    "configuration strict",
    "z.object({…}).strict()",
    "Settings file: an unknown name is an error with the file, the name and those that there are.",
)
async def strict(doors: Doors) -> None:
    with pytest.raises(FourhandsError) as refused:
        settings_of("[terminal.agentDefaults]\ncolour = 'red'\n")
    assert "agentDefaults.colour, which is not a setting" in str(refused.value)
    assert "provider, bash, persistent" in str(refused.value.hint)


@DOCUMENT.differs(
    "configuration schema",
    "providers: z.record(z.string(), z.any())",
    because="What isolates is checked when Fourhands starts, not when the first program runs without it.",
    answer="an error that names the accepted types and settings; types of plugins come by entry points.",
)
async def providers_are_checked(doors: Doors) -> None:
    with pytest.raises(FourhandsError, match="local, bubblewrap, landlock, auto, container"):
        settings_of("[terminal.providers.mine]\ntype = 'cloud'\n")


@DOCUMENT.works(
    "configuration agent",
    "terminal: { provider, bash: { cropOutput: 5000, timeoutSeconds: 30 }, persistent: {…} }",
    "Settings file: under [agents.NAME]; it holds for the agent of that name, over the defaults.",
)
async def agent_in_file(doors: Doors) -> None:
    chosen = settings_of(AGENT).for_agent("builder", "mcp")
    assert (chosen.provider, chosen.bash.crop_output, chosen.bash.timeout_s) == ("local", 5000, 30)
    assert chosen.persistent == PersistentSettings(min_interval=1, settle_interval=2, max_interval=30)
    assert settings_of(AGENT).for_agent("other", "mcp").bash.crop_output == 10_000


@DOCUMENT.works(
    "configuration agent",
    "each of them optional",
    "Settings file: what an agent's part leaves out is as in agentDefaults.",
)
async def agent_partly(doors: Doors) -> None:
    chosen = settings_of("[agents.builder.terminal.bash]\ncropOutput = 5000\n").for_agent("builder", "mcp")
    assert (chosen.provider, chosen.bash.crop_output, chosen.bash.timeout_s) == ("auto", 5000, 60)


@DOCUMENT.works(
    "persistent minInterval, persistent settleInterval, persistent maxInterval",
    "persistent: { minInterval: 1, settleInterval: 2, maxInterval: 30 }",
    "Settings: these are the defaults.",
)
async def intervals(doors: Doors) -> None:
    assert PersistentSettings() == PersistentSettings(min_interval=1, settle_interval=2, max_interval=30)


# -- the document's own lists, judged by default ---------------------------------------------------------------------

READERS = (
    *("awk '{print $1}' a", "cat a", "cd src", "chdir src", "diff a b", "echo hi", "find . -name x", "git status"),
    *("grep x a", "head a", "help", "hostname", "id", "ls -la", "netstat -an", "ps aux", "pwd", "sort a", "tail a"),
    *("tree", "type ls", "uname -a", "uniq a", "wc a", "which ls", "touch a", "mkdir a"),
    *("npm test", "yarn test", "bun test", "tsc --noEmit", "node --version", "vitest"),
)


@DOCUMENT.works(
    "configuration safeCommands, R6",
    "'awk', 'cat', 'cd', … 'vitest'",
    "Python: in the forms that read, or that test and check a project, all of them are safe by default.",
)
async def readers(doors: Doors) -> None:
    assert {line: classify(line).level for line in READERS} == dict.fromkeys(READERS, "safe")


CHANGING = {
    "git": ("git add .", "git commit -m x", "git pull"),
    "tee": ("tee file",),
    "npm": ("npm install", "npm run dev"),
    "yarn": ("yarn add x",),
    "bun": ("bun install",),
    "tsc": ("tsc",),
    "node": ("node app.js",),
    "npx": ("npx vitest",),
    "bunx": ("bunx vitest",),
}

for name, lines in CHANGING.items():

    @DOCUMENT.differs(
        "configuration safeCommands, R6",
        f"safeCommands: '{name}'",
        because="A name alone does not make a line safe: these forms change files, or run code from elsewhere.",
        answer=f"{', '.join(f'`{line}`' for line in lines)}: unknown, so the person is asked; the list can name it.",
    )
    async def changing(doors: Doors, name: str = name, lines: tuple[str, ...] = lines) -> None:
        for line in lines:
            judged = classify(line)
            assert (judged.level, bool(judged.reason)) == ("unknown", True)
            assert classify(line, Rules(safe_commands=(name,))).level == "safe"


async def _ipconfig(doors: Doors) -> None:
    judged = classify("ipconfig /all")
    assert (judged.level, judged.reason) == ("unknown", "unknown program: ipconfig")


DOCUMENT.not_here(
    "configuration safeCommands",
    "safeCommands: 'ipconfig'",
    because="A program of Windows: it is in no list, so the person is asked; `ip addr` is safe.",
    play=_ipconfig,
)

DANGEROUS = {
    r"(^|\\s)dd\\s": "dd if=a of=b",
    r"(^|\\s)rm.*-.*r": "rm -r build",
    r"(^|\\s)chmod.*-.*r": "chmod -R 755 .",
    r"(^|\\s)chown.*-.*r": "chown -R me .",
    "find.*-(delete|exec)": "find . -delete",
    r"(^|\\s)sudo\\s": "sudo ls",
    r"(^|\\s)del\\s": "del notes.txt",
    r"(^|\\s)format\\s": "format c:",
    r"(^|\\s)reboot": "reboot",
    r"(^|\\s)shutdown": "shutdown now",
    "git.*reset": "git reset --hard",
}

for pattern, line in DANGEROUS.items():

    @DOCUMENT.works("configuration dangerousCommands, R6", f"'{pattern}'", f"Python: `{line}` is dangerous by default.")
    async def is_dangerous(doors: Doors, line: str = line) -> None:
        assert classify(line).level == "dangerous"


HARMLESS = {
    r"(^|\\s)rmdir\\s": ("rmdir build", "unknown", "it removes empty directories only"),
    "find.*-(delete|exec)": ("find . -exec ls {} +", "safe", "it does what the inner command does"),
    "git.*reset": ("git reset --soft HEAD~1", "unknown", "nothing of the files is lost"),
    r"(^|\\s)chmod.*-.*r": ("chmod -r notes.txt", "unknown", "-r takes a right away, -R is the recursive one"),
    r"(^|\\s)rm.*-.*r": ("echo 'rm -r build'", "safe", "quoted text is no command"),
}

for pattern, (line, level, reason) in HARMLESS.items():

    @DOCUMENT.differs(
        "configuration dangerousCommands, R6",
        f"'{pattern}' on `{line}`",
        because=f"What the shell would run is judged, not the text: {reason}.",
        answer=f"{level}; the pattern can be put into safety.dangerousCommands, where it counts.",
    )
    async def harmless(doors: Doors, pattern: str = pattern, line: str = line, level: str = level) -> None:
        assert classify(line).level == level
        rules = Rules(dangerous_commands=(pattern.replace(r"\\", "\\"),))
        assert classify(line, rules).level == "dangerous"


# -- state -----------------------------------------------------------------------------------------------------------


@DOCUMENT.works(
    "state providerName",
    "providerName: string | null",
    "HTTP: openspace.agent.configure shows it, null where the default holds; the person chooses it.",
)
async def provider_name(doors: Doors) -> None:
    newcomer = doors.another("chooser")
    assert (await newcomer.agent("openspace.agent.configure", {}))["state"]["provider"] is None
    args = {"sessionId": newcomer.session, "provider": "local"}
    assert (await doors.person("openspace.agent.configure", args))["state"]["provider"] == "local"


@DOCUMENT.works("state bash", "bash: { cropOutput, timeoutSeconds }", "HTTP: openspace.agent.configure sets them.")
async def bash_state(doors: Doors) -> None:
    newcomer = doors.another("setter")
    set_to = await newcomer.agent("openspace.agent.configure", {"cropOutput": 7, "timeoutSeconds": 8})
    like(set_to["state"], {"cropOutput": 7, "timeoutSeconds": 8.0})
    like(set_to["effective"]["bash"], {"cropOutput": 7, "timeoutSeconds": 8.0})


@DOCUMENT.works("state reset", "reset(['chat'])", "HTTP: openspace.agent.reset leaves the settings as they are.")
async def reset_chat(doors: Doors) -> None:
    newcomer = doors.another("resetter")
    await newcomer.agent("openspace.agent.configure", {"cropOutput": 7})
    await doors.person("openspace.agent.reset", {"sessionId": newcomer.session})
    assert (await newcomer.agent("openspace.agent.configure", {}))["state"]["cropOutput"] == 7


@DOCUMENT.works("state reset", "reset(['settings'])", "HTTP: openspace.agent.configure { reset: true }.")
async def reset_settings(doors: Doors) -> None:
    newcomer = doors.another("forgetter")
    await newcomer.agent("openspace.agent.configure", {"cropOutput": 7})
    assert (await newcomer.agent("openspace.agent.configure", {"reset": True}))["state"]["cropOutput"] is None


@DOCUMENT.works(
    "state serialize, state deserialize",
    "deserialize(serialize())",
    "HTTP: the `state` of an answer can be kept and given back; Python: AgentState.",
)
async def serialized(doors: Doors) -> None:
    newcomer = doors.another("keeper")
    kept = (await newcomer.agent("openspace.agent.configure", {"cropOutput": 7, "minInterval": 0.5}))["state"]
    await newcomer.agent("openspace.agent.configure", {"reset": True, "maxInterval": 9})
    given = {name: value for name, value in kept.items() if value is not None}
    back = await newcomer.agent("openspace.agent.configure", {"reset": True, **given})
    assert back["state"] == kept
    assert SessionSettings(crop_output=7, min_interval=0.5).over(AgentDefaults()).bash.crop_output == 7


@DOCUMENT.differs(
    "state show",
    "show(): string[]",
    because="Pages, scripts and models read named values rather than lines.",
    answer="`state`, what is set, and `effective`, what holds, as objects, by openspace.agent.configure {}.",
)
async def shown(doors: Doors) -> None:
    newcomer = doors.another("shower")
    found = await newcomer.agent("openspace.agent.configure", {})
    like(found["effective"], {"provider": str, "bash": dict, "persistent": dict})
    listed = await doors.person("openspace.agent.list", {})
    assert newcomer.session in {one["id"] for one in listed["agents"] if "state" in one}
