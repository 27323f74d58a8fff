"""What an agent's own process gets of the person's environment, and what of that is spelled in another way inside."""

from pathlib import Path

import pytest

from fourhands.agents.acp.catalogue import other, recipes
from fourhands.agents.connectors.profile import AgentProfile, hosts_of, needs_of, shown_for, variables_of
from fourhands.providers.egress.agents import inner_url
from fourhands.providers.egress.hosts import HostPattern
from fourhands.providers.egress.rules import NetworkRules

HERE = "host.fourhands.internal"


@pytest.mark.parametrize(
    ("url", "inside", "host", "address"),
    [
        ("http://127.0.0.1:11434/v1", f"http://{HERE}:11434/v1", f"{HERE}:11434", ""),
        ("http://localhost:1234", f"http://{HERE}:1234", f"{HERE}:1234", ""),
        ("http://[::1]:1234/x?y=z", f"http://{HERE}:1234/x?y=z", f"{HERE}:1234", ""),
        ("http://me:pw@127.0.0.1:80/", f"http://me:pw@{HERE}:80/", f"{HERE}:80", ""),
        ("http://127.0.0.1", f"http://{HERE}", f"{HERE}:80", ""),
        ("https://models.example.org/v1", "https://models.example.org/v1", "models.example.org:443", ""),
        (
            "http://192.168.1.5:8000/v1",
            "http://192-168-1-5.address.fourhands.internal:8000/v1",
            "192-168-1-5.address.fourhands.internal:8000",
            "192.168.1.5",
        ),
    ],
)
def test_a_base_url_leads_from_inside_to_where_it_led_outside(url: str, inside: str, host: str, address: str) -> None:
    found = inner_url(url)
    assert found is not None
    assert (found.url, str(found.host), found.address) == (inside, host, address)


@pytest.mark.parametrize("url", ["", "no url", "ftp://example.org", "http://", "http://x y/", "http://a:b:c/"])
def test_what_is_no_url_leads_nowhere(url: str) -> None:
    assert inner_url(url) is None


def test_an_agent_gets_the_variables_that_it_needs_and_no_others() -> None:
    env = {
        "PATH": "/usr/bin",
        "HOME": "/home/me",
        "ANTHROPIC_API_KEY": "key",
        "OPENAI_API_KEY": "another",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "LD_PRELOAD": "x.so",
        "NODE_EXTRA_CA_CERTS": "/etc/ca.pem",
        "CLAUDE_CONFIG_DIR": "/elsewhere",
        "FOURHANDS_SECRET": "ours",
        "MY_TOKEN": "mine",
    }
    claude = variables_of(recipes()["claude"].sandbox, env)
    assert set(claude) == {"PATH", "HOME", "ANTHROPIC_API_KEY", "NODE_EXTRA_CA_CERTS"}
    assert {"ANTHROPIC_API_KEY", "OPENAI_API_KEY"} < set(variables_of(other("mine").sandbox, env))
    assert "MY_TOKEN" in variables_of(other("mine").sandbox, env, ["MY_TOKEN", "FOURHANDS_SECRET"])
    assert "FOURHANDS_SECRET" not in variables_of(other("mine").sandbox, env, ["FOURHANDS_SECRET"])


def test_what_the_person_configured_is_reached_unasked_and_what_agents_report_is_refused_unasked() -> None:
    variables = {
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:9000",
        "OPENAI_BASE_URL": "http://10.0.0.7/v1",
        "X_URL": "http://a.b",
    }
    profile = AgentProfile(hosts=("api.example.org",), refused=("*.example.com",))
    hosts = hosts_of(profile, variables, ["mine.example.net"], {4404})
    assert variables["X_URL"] == "http://a.b"
    rules = NetworkRules(None)
    rules.agents["a"] = hosts

    def said(host: str, port: int, *, private: bool = False, session: str = "a") -> bool | None:
        rule = rules.find(session, host, port, private=private)
        return None if rule is None else rule.allowed

    private = "10-0-0-7.address.fourhands.internal"
    assert (said(HERE, 9000), said(HERE, 9001), said(HERE, 9000, session="b")) == (True, None, None)
    assert (said(private, 80, private=True), said(private, 81, private=True)) == (True, None)
    assert (said("api.example.org", 443), said("api.example.org", 443, private=True)) == (True, None)
    assert (said("mine.example.net", 22), said("mine.example.net", 22, private=True)) == (True, True)
    assert (said("sentry.example.com", 443), said("example.net", 443)) == (False, None)
    own = {"ANTHROPIC_BASE_URL": "http://localhost:4404/x"}
    assert hosts_of(AgentProfile(), own, (), {4404}).configured == ()
    assert own["ANTHROPIC_BASE_URL"] == "http://workbench.fourhands.internal/x"


def test_a_program_is_shown_with_its_package_and_interpreter_and_never_a_home(tmp_path: Path) -> None:
    modules, env, home = tmp_path / "lib" / "node_modules", tmp_path / "env", tmp_path / "home"
    for path in (modules / "agent" / "index.js", env / "bin" / "tool", env / "bin" / "python", home / "alone"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/usr/bin/env node\n" if path.suffix else f"#!{env}/bin/python\n")
    (env / "pyvenv.cfg").touch()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "agent").symlink_to(modules / "agent" / "index.js")
    assert shown_for(str(tmp_path / "bin" / "agent")) == [str(modules)]
    assert set(shown_for(str(env / "bin" / "tool"))) == {str(env)}
    assert set(shown_for(str(home / "alone"))) == {str(home / "alone"), str(env)}
    assert shown_for("/usr/bin/env") == []
    given = (str(home), str(tmp_path), str(home / ".netrc"), str(home / "alone"))
    (home / ".netrc").touch()
    everything = {"SSL_CERT_DIR": str(tmp_path), "SSL_CERT_FILE": str(home)}
    needs = needs_of(AgentProfile(), "/usr/bin/env", given, everything, str(home), {"HOME": str(home)})
    assert [one.inside for one in needs.readable] == sorted([str(env), str(home / "alone")])


def test_only_what_is_there_is_shown_and_a_place_of_their_own_is_found(tmp_path: Path) -> None:
    profile, home = recipes()["claude"].sandbox, tmp_path / "home"
    needs = needs_of(profile, "/bin/sh", (), {}, str(home), {"HOME": str(home)})
    assert (needs.readable, needs.copied) == ((), ())
    assert sorted(path.name for path in (home / ".claude").iterdir()) == ["plans", "projects", "tasks", "todos"]
    place = tmp_path / "elsewhere"
    place.mkdir()
    (place / "settings.json").touch()
    needs = needs_of(profile, "/bin/sh", (), {}, str(home), {"HOME": str(home), "CLAUDE_CONFIG_DIR": str(place)})
    (settings,) = needs.readable
    assert (settings.inside, settings.outside) == (f"{home}/.claude/settings.json", f"{place}/settings.json")


def test_the_catalogue_names_hosts_that_can_be_rules() -> None:
    for recipe in recipes().values():
        assert [HostPattern.parse(host) for host in (*recipe.sandbox.hosts, *recipe.sandbox.refused)]
