"""Secret file names: safety-policy.md P6."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.table import table

from fourhands.core.errors import BadArgument
from fourhands.safety.redaction.file_names import PATTERNS, SecretNames, is_secret_name

SECRET = [
    ".env",
    ".env.local",
    ".env.production",
    "prod.env",
    ".envrc",
    "a/b/.env",
    "/srv/app/.env",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "id_ecdsa_sk",
    "id_ed25519_sk",
    "keys/id_rsa",
    "a.pem",
    "b.key",
    "c.p12",
    "d.pfx",
    "e.jks",
    "f.keystore",
    "g.kdbx",
    "h.ppk",
    "terraform.tfstate",
    "credentials",
    "credentials.json",
    "credentials.yaml",
    "credentials.yml",
    "credentials.toml",
    "credentials.ini",
    "credentials.db",
    "secret.txt",
    "secrets.py",
    "secrets.yaml",
    "secrets.tar.gz",
    "secret.json",
    ".npmrc",
    ".pypirc",
    ".netrc",
    "_netrc",
    ".git-credentials",
    ".pgpass",
    ".my.cnf",
    ".htpasswd",
    ".dockercfg",
    ".vault-token",
    "kubeconfig",
    "service-account.json",
    "service-account-prod.json",
    ".ssh/config",
    "~/.ssh/known_hosts",
    ".aws/config",
    ".gnupg/pubring.kbx",
    ".kube/cache/x",
    ".azure/x",
    ".config/gcloud/a/b",
    ".config/gh/hosts.yml",
    ".docker/config.json",
    "/home/x/.docker/config.json",
    ".ENV",
    ".Env.Local",
    "ID_RSA",
    "A.PEM",
    ".env.",
    ".env...",
    ".env::$DATA",
    ".env:x",
    "Credentials.JSON",
    "SECRETS.yml",
    ".env/",
    ".env/.",
    "./.env",
    "a/../.env",
    ".config/./gh/hosts.yml",
    ".config//gh/hosts.yml",
    ".config/x/../gh/hosts.yml",
]
ODD = [
    ".env ",
    ".env. . ",
    ".e\u200bnv",
    ".env\ufe0f",
    "\uff0eenv",
    ".\uff45nv",
    "id_r\u017fa",
    ".ssh\u200d/id",
    "\u202e.env",
]
PUBLIC = [
    ".env.example",
    ".env.sample",
    ".env.template",
    ".env.dist",
    ".env.local.example",
    "environment.ts",
    "keys.py",
    "credentials.ts",
    "secret_santa.md",
    "monkey.keyboard",
    "secret",
    "secrets",
    "src/secrets/readme.md",
    "id_rsa.pub",
    ".ssh/id_rsa.pub",
    ".ssh",
    "key",
    "pem",
    "env",
    ".environment",
    "id_rsa_old",
    "credentials.py",
    "mycredentials.json",
    ".config/ghx/hosts.yml",
    ".docker/daemon.json",
    "service.json",
    ".gitignore",
    ".github/x",
    "x.git/y",
    "package.json",
    ".env.d/prod.md",
    ".env/bin/python",
    ".sshx/a",
]


@table("name", SECRET + ODD)
def test_secret_names_are_recognised(name):
    assert is_secret_name(name)


@table("name", [*PUBLIC, "", "/", ".", ".."])
def test_ordinary_names_are_not_secret(name):
    assert not is_secret_name(name)


def test_a_user_adds_and_removes_patterns():
    names = SecretNames(extra=("*.vault", "Private/", "ci/deploy.txt"), removed=("*.key", ".kube/"))
    assert is_secret_name("a.VAULT", names)
    assert is_secret_name("x/private/y", names)
    assert is_secret_name("ci/deploy.txt", names)
    assert not is_secret_name("deploy.txt", names)
    assert not is_secret_name("a.key", names)
    assert not is_secret_name(".kube/config", names)
    assert is_secret_name(".env", names)


def test_a_directory_of_secrets_is_known():
    assert SecretNames().holds("~/.ssh")
    assert SecretNames().holds(".config/gh/")
    assert not SecretNames().holds("src")


@pytest.mark.parametrize("bad", [("",), (3,), ("/",), ("x" * 300,), ("*" * 9,), "abc", 7, ("a",) * 1001])
def test_a_bad_pattern_is_named(bad):
    with pytest.raises(BadArgument, match="secret name"):
        SecretNames(extra=bad)


def test_removing_what_is_not_built_in_names_the_choices():
    with pytest.raises(BadArgument, match=r"'\*\.txt' is not a built-in pattern .*\.env"):
        SecretNames(removed=("*.txt",))


@given(st.text())
def test_any_text_has_an_answer(text):
    assert is_secret_name(text) in (True, False)


@given(st.sampled_from([p for p in PATTERNS if not p.endswith("/")]), st.text("ab/.", max_size=6))
def test_a_secret_name_is_secret_in_every_directory(pattern, directory):
    assert is_secret_name(f"{directory}/{pattern.replace('*', 'x')}")


def test_a_very_long_path_is_judged_at_once():
    assert is_secret_name("a/" * 50_000 + ".env")
    assert not is_secret_name("." * 100_000)
    assert not is_secret_name("service-account" * 7_000)
