"""Options of safe programs that are known to be harmless (C6.5, C6.6): a program with another one is unknown.

Programs that run code or obey configuration have a list here; a name that ends in `*` stands for all that begin so.
Plain readers have none: their options are in `readers`, and one whose name speaks of programs, settings or files to
write is unknown unless it is listed there.
"""

import re

from fourhands.safety.shell.levels import FINE, Finding, unknown
from fourhands.safety.shell.options import Tool, words

_NODE = words(
    "-s -w -ws -F -r -h -v --silent --workspace --workspaces --include-workspace-root --if-present --filter "
    "--json --long "
    "--depth --all --parseable --prod --production --omit --loglevel --color --no-color --version --help "
    "--verbose --run "
    "--watch --watchAll --coverage --ci --bail --reporter* --recursive --parallel --offline --prefer-offline --run "
    "--ignore-scripts --no-fund --no-audit --global -g --mode --noEmit --changed --testNamePattern -t -u --port"
)
_DOCKER = words(
    "-a -q -f -n -l -s -t -h -v --all --quiet --filter --format --last --latest --no-trunc --size --tail --follow "
    "--since --until --timestamps --details --type --digests --no-stream --human --services --status --profile --help "
    "--version --no-log-prefix --no-color --project-name -p --file --project-directory --verbose"
)
_KUBE = words(
    "-n -l -o -A -w -c -f -p -h -L --namespace --selector --output --all-namespaces --watch --container --follow "
    "--previous --since --since-time --tail --timestamps --context --show-labels --field-selector --sort-by "
    "--no-headers "
    "--containers --all-containers --prefix --max-log-requests --limit-bytes --label-columns --help --short --client "
    "--recursive --api-version --verbs --namespaced --for --types --cluster --user --all --date --max --kube-context "
    "--output-* --ignore-not-found --chunk-size --show-kind --warnings-as-errors"
)
_CLOUD = words(
    "--region --profile --output --query --no-cli-pager --filters --filter --max-items --page-size --project --format "
    "--limit --sort-by --resource-group -g --name -n -o --recursive --human-readable --summarize --no-paginate --zone "
    "--instance-ids --bucket --prefix --stack-name --cluster --version --help --subscription --location "
    "--debug --all -l"
)
_GIT = words(
    "-a -b -c -d -e -f -g -h -i -l -m -n -o -p -q -r -s -t -u -v -vv -w -z -A -B -C -D -E -F -G -H -I -L -M "
    "-P -R -S -U -W "
    "--short --branch --porcelain* --long --verbose --show-* --ignored* --untracked-files* --no-* --oneline --graph "
    "--all --decorate* --stat* --numstat --shortstat --dirstat* --summary --name-only --name-status --patch* "
    "--raw --pretty "
    "--format --date --author --committer --grep --since --until --after --before --max-count --skip "
    "--follow --first-parent "
    "--merges --reverse --topo-order --date-order --author-date-order --cached --staged --merge-base "
    "--color* --word-diff* "
    "--diff-filter --diff-algorithm --ignore-* --unified --inter-hunk-context --function-context --find-* --full-diff "
    "--abbrev* --left-right --cherry* --boundary --simplify-* --tags --remotes --branches --glob --exclude* --contains "
    "--merged --points-at --sort --column --list --count --others --modified --deleted --stage --directory "
    "--cc --minimal "
    "--patience --histogram --indent-heuristic --line-* --porcelain --root --incremental --is-* --git-dir "
    "--absolute-git-dir "
    "--symbolic* --verify --quiet --sq --default --revs-only --flags --not --local --global --system --get* "
    "--type --null "
    "--cc --summary-limit --heads --max-depth --recursive --and --or --only-matching --line-number "
    "--files-with* --untracked "
    "--fixed-strings --extended-regexp --perl-regexp --basic-regexp --word-regexp --invert-match --context "
    "--after-context "
    "--before-context --heading --break --text --binary --check --exit-code --src-prefix --dst-prefix "
    "--relative* --compact-summary "
    "--dirty --always --long --candidates --exact-match --match --email --numbered --group --help --version --paginate "
    "--bare --git-common-dir --prefix --path-format --expire* --full-name --full-tree "
    "--object* -- "
    "--walk-reflogs --children --parents --pickaxe-* --batch-check --use-mailmap --mailmap --notes --independent "
    "--output --output-indicator-* --ours --theirs --base --ws-error-highlight --intent-to-add --contents"
)
_GH = words(
    "-R -L -s -l -a -A -q -t -c -w -b -e -h -r -S -u --repo --limit --state --label --assignee --author --json --jq "
    "--template --comments --log --log-failed --job --exit-status --verbose --branch --workflow --event "
    "--search --user "
    "--base --head --draft --required --name-only --patch --color --milestone --mention --commit --status "
    "--help --visibility"
)

HARMLESS: dict[str, frozenset[str]] = {
    "pytest": words(
        "-q -qq -v -vv -vvv -x -s -l -h -r -k -m -n -W --tb --maxfail --lf --last-failed --ff --failed-first "
        "--nf --new-first "
        "--sw --stepwise --stepwise-skip --durations* --collect-only --co --no-header --no-summary --color --capture "
        "--show-capture --strict* --setup-show --setup-plan --fixtures --markers --version --help --cov --cov-report "
        "--cov-branch --cov-fail-under --cov-append --no-cov* --timeout --deselect --ignore* --randomly-seed --reruns "
        "--reruns-delay --dist --numprocesses --disable-warnings --asyncio-mode --runxfail --exitfirst "
        "--verbose --quiet "
        "--verbosity --full-trace --showlocals --pyargs --doctest-modules --cache-show --cache-clear "
        "--junitxml --junit-xml "
        "--log-level --log-cli-level --log-file --maxprocesses --tx --forked --count --benchmark-skip --benchmark-only "
        "--no-showlocals --xfail-tb --sparse --hypothesis-seed --hypothesis-show-statistics"
    ),
    **dict.fromkeys(("npm", "pnpm", "yarn", "vitest", "bun"), _NODE),
    "mypy": words(
        "-p -m -v -h -2 --strict* --ignore-missing-imports --show-* --hide-* --pretty --no-* --follow-imports "
        "--namespace-packages --explicit-package-bases --python-version --platform --check-untyped-defs --disallow-* "
        "--warn-* --implicit-* --exclude* --verbose --version --help --color-output --error-summary "
        "--local-partial-types "
        "--enable-error-code --disable-error-code --package --module --txt-report --html-report --xml-report "
        "--junit-xml "
        "--any-exprs-report --cobertura-xml-report --non-interactive --allow-* --scripts-are-modules "
        "--enable-incomplete-feature"
    ),
    "ruff": words(
        "-q -s -v -n -h -e --select --ignore --extend-select --extend-ignore --output-format --statistics "
        "--show-* --diff "
        "--no-cache --preview --no-preview --target-version --line-length --exclude --extend-exclude --no-fix --check "
        "--exit-zero --quiet --verbose --version --help --isolated --respect-gitignore --force-exclude "
        "--stdin-filename "
        "--ignore-noqa --silent --per-file-ignores --color --explain --all"
    ),
    "tsc": words(
        "-v -h --noEmit --noemit --version --help --strict* --skipLibCheck --pretty --incremental --showConfig -b"
    ),
    "eslint": words(
        "-o -h -v --ext --max-warnings --quiet --cache --no-error-on-unmatched-pattern --ignore-pattern "
        "--color --no-color "
        "--report-unused-disable-directives* --stdin --stdin-filename --output-file --debug --env --version "
        "--help --no-ignore "
        "--no-inline-config --exit-on-fatal-error --pass-on-no-patterns"
    ),
    **dict.fromkeys(
        ("make", "gmake"),
        words(
            "-j -k -n -s -q -B -l -r -R -w -t -i -h -v --jobs --keep-going --dry-run --just-print --silent --quiet "
            "--always-make --load-average --no-print-directory --print-directory --version --help "
            "--output-sync -O --trace -d"
        ),
    ),
    **dict.fromkeys(
        ("pip", "pip3", "uv"),
        words(
            "-v -q -f -l -o -u -V -h --verbose --quiet --files --local --outdated --uptodate --editable "
            "--format --user --all "
            "--exclude --not-required --version --help --pre --no-color --disable-pip-version-check --depth "
            "--python-version"
        ),
    ),
    "cargo": words(
        "-p -F -j -q -v -vv -h -r -V -e -i -d --package --features --all-features --no-default-features "
        "--release --workspace "
        "--all --lib --bin --bins --test --tests --example --examples --all-targets --bench --benches --doc --no-run "
        "--no-fail-fast --jobs --keep-going --color --frozen --locked --offline --message-format --profile "
        "--verbose --quiet "
        "--version --help --exclude --no-deps --format-version --depth --edges --invert --prefix "
        "--duplicates --limit --timings"
    ),
    "go": words(
        "-v -race -run -bench -benchmem -benchtime -count -cover -covermode -coverpkg -coverprofile -timeout "
        "-short -tags -p "
        "-parallel -failfast -json -list -mod -o -x -n -cpu -shuffle -skip -m -f -e -deps -find -test -u "
        "-all -c -src -h "
        "-cpuprofile -memprofile -trace -outputdir -blockprofile -mutexprofile -ldflags -gcflags -trimpath "
        "-a -asan -msan -fullpath"
    ),
    "git": _GIT,
    **dict.fromkeys(("docker", "podman", "nerdctl", "docker-compose", "podman-compose"), _DOCKER),
    **dict.fromkeys(("kubectl", "oc", "helm"), _KUBE),
    **dict.fromkeys(("aws", "gcloud", "az", "doctl", "fly", "flyctl", "eksctl", "gsutil"), _CLOUD),
    **dict.fromkeys(("gh", "glab"), _GH),
}
_SPEAKS = re.compile(
    r"--.*(?:exec|command|program|\bpre\b|pager|config|\brc|plugin|load|script|output|write|eval|hook|preprocessor|init|save|"
    r"log-?file|dump|upload|post|host|remote)"
)


def unlisted(name: str, rest: list[str], tool: Tool | None) -> Finding:
    """Classify the options of a program that is safe so far."""
    allowed = HARMLESS.get(name)
    if allowed is None:
        known = frozenset() if tool is None else tool.with_value | tool.unskip | tool.deep
        odd = (word.partition("=")[0] for word in rest if word[:2] == "--" and _SPEAKS.match(word))
        return next((_unknown(name, option) for option in odd if option not in known), FINE)
    starts = tuple(option[:-1] for option in allowed if option.endswith("*"))
    for word in rest:
        if word == "--":
            break
        option = word.partition("=")[0]
        if word[:1] != "-" or word == "-" or word[1:].isdigit() or " " in option:  # with a blank it is a value
            continue
        if option in allowed or (starts and option.startswith(starts)) or (name == "go" and option[1:] in allowed):
            continue
        if word[1] == "-" or name == "go" or not _bundle(word, allowed):
            return _unknown(name, option)
    return FINE


def _bundle(word: str, allowed: frozenset[str]) -> bool:
    """Return True if short options that are written together are listed, up to one with a value in the same word."""
    for at, letter in enumerate(word[1:], 1):
        if f"-{letter}" not in allowed:
            return at > 1 and not letter.isalpha()
    return True


def _unknown(name: str, option: str) -> Finding:
    return unknown("C6.6", f"{name} with an option that is not known to be harmless: {option}")
