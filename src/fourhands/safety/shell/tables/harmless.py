"""Options of safe programs that are known to be harmless (C6.5, C6.6): a program with another one is unknown.

Programs that run code or obey configuration have a list here; a name that ends in `*` stands for all that begin so.
Plain readers have none: their options are in `readers`, and one whose name speaks of programs, settings or files to
write is unknown unless it is listed there.
"""

import re

from fourhands.safety.shell.levels import FINE, Finding, unknown
from fourhands.safety.shell.options import Tool, words

_NODE = words(
    "-s -w -ws -F -r -h -v --silent --workspace --workspaces --include-workspace-root --if-present --filter --json "
    "--long --depth --all --parseable --prod --production --omit --loglevel --color --no-color --version --help "
    "--verbose --run --watch --watchAll --coverage --ci --bail --reporter --recursive --parallel --offline "
    "--prefer-offline --run --ignore-scripts --no-fund --no-audit --global -g --mode --noEmit --changed "
    "--testNamePattern -t -u --port"
)
_DOCKER = words(
    "-a -q -f -n -l -s -t -h -v --all --quiet --filter --format --last --latest --no-trunc --size --tail --follow "
    "--since --until --timestamps --details --type --digests --no-stream --human --services --status --profile "
    "--help --version --no-log-prefix --no-color --project-name -p --file --project-directory --verbose"
)
_KUBE = words(
    "-n -l -o -A -w -c -f -p -h -L --namespace --selector --output --all-namespaces --watch --container --follow "
    "--previous --since --since-time --tail --timestamps --context --show-labels --field-selector --sort-by "
    "--no-headers --containers --all-containers --prefix --max-log-requests --limit-bytes --label-columns --help "
    "--short --client --recursive --api-version --verbs --namespaced --for --types --cluster --user --all --date "
    "--max --kube-context --ignore-not-found --chunk-size --show-kind --warnings-as-errors"
)
_CLOUD = words(
    "--region --profile --output --query --no-cli-pager --filters --filter --max-items --page-size --project "
    "--format --limit --sort-by --resource-group -g --name -n -o --recursive --human-readable --summarize "
    "--no-paginate --zone --instance-ids --bucket --prefix --stack-name --cluster --version --help --subscription "
    "--location --all -l"
)
_GIT = words(
    "-a -b -c -d -e -f -g -h -i -l -m -n -o -p -q -r -s -t -u -v -vv -w -z -A -B -C -D -E -F -G -H -I -L -M -P -R "
    "-S -U -W --short --branch --porcelain* --long --verbose --show-* --ignored* --untracked-files* --no-* "
    "--oneline --graph --all --decorate* --stat* --numstat --shortstat --dirstat* --summary --name-only "
    "--name-status --patch* --raw --pretty --format --date --author --committer --grep --since --until --after "
    "--before --max-count --skip --follow --first-parent --merges --reverse --topo-order --date-order "
    "--author-date-order --cached --staged --merge-base --color* --word-diff* --diff-filter --diff-algorithm "
    "--ignore-* --unified --inter-hunk-context --function-context --find-* --full-diff --abbrev* --left-right "
    "--cherry* --boundary --simplify-* --tags --remotes --branches --glob --exclude* --contains --merged "
    "--points-at --sort --column --list --count --others --modified --deleted --stage --directory --cc --minimal "
    "--patience --histogram --indent-heuristic --line-* --porcelain --root --incremental --is-* --git-dir "
    "--absolute-git-dir --symbolic* --verify --quiet --sq --default --revs-only --flags --not --local --global "
    "--system --get* --type --null --cc --summary-limit --heads --max-depth --recursive --and --or --only-matching "
    "--line-number --files-with* --untracked --fixed-strings --extended-regexp --perl-regexp --basic-regexp "
    "--word-regexp --invert-match --context --after-context --before-context --heading --break --text --binary "
    "--check --exit-code --src-prefix --dst-prefix --relative* --compact-summary --dirty --always --long "
    "--candidates --exact-match --match --email --numbered --group --help --version --paginate --bare "
    "--git-common-dir --prefix --path-format --expire* --full-name --full-tree --object* -- --walk-reflogs "
    "--children --parents --pickaxe-* --batch-check --use-mailmap --mailmap --notes --independent --output "
    "--output-indicator-* --ours --theirs --base --ws-error-highlight --intent-to-add --contents"
)
_GH = words(
    "-R -L -s -l -a -A -q -t -c -b -e -h -r -S -u --repo --limit --state --label --assignee --author --json --jq "
    "--template --comments --log --log-failed --job --exit-status --verbose --branch --workflow --event --search "
    "--user --base --head --draft --required --name-only --patch --color --milestone --mention --commit --status "
    "--help --visibility"
)

_FD = words(
    "-e -t -d -E -H -I -u -g -p -s -i -a -l -0 -F -1 -q -c -j -S -x -X -o -V -h --extension --type --max-depth "
    "--min-depth --exact-depth --exclude --hidden --no-ignore* --unrestricted --glob --regex --full-path "
    "--case-sensitive --ignore-case --absolute-path --list-details --print0 --fixed-strings --max-results --quiet "
    "--color --threads --size --owner --changed-* --base-directory --search-path --path-separator --exec "
    "--exec-batch --strip-cwd-prefix --format --prune --and --version --help --one-file-system --relative-path"
)

HARMLESS: dict[str, frozenset[str]] = {
    "pytest": words(
        "-q -qq -v -vv -vvv -x -s -l -h -r -k -m -n -W --tb --maxfail --lf --last-failed --ff --failed-first --nf "
        "--new-first --sw --stepwise --stepwise-skip --durations* --collect-only --co --no-header --no-summary "
        "--color --capture --show-capture --strict* --setup-show --setup-plan --fixtures --markers --version --help "
        "--cov --cov-report --cov-branch --cov-fail-under --cov-append --no-cov* --timeout --deselect --ignore* "
        "--randomly-seed --reruns --reruns-delay --dist --numprocesses --disable-warnings --asyncio-mode --runxfail "
        "--exitfirst --verbose --quiet --verbosity --full-trace --showlocals --doctest-modules --cache-show "
        "--cache-clear --junitxml --junit-xml --log-level --log-cli-level --log-file --maxprocesses --forked "
        "--count --benchmark-skip --benchmark-only --no-showlocals --xfail-tb --sparse --hypothesis-seed "
        "--hypothesis-show-statistics"
    ),
    **dict.fromkeys(("npm", "pnpm", "yarn", "vitest", "bun"), _NODE),
    "mypy": words(
        "-p -m -v -h -2 --strict* --ignore-missing-imports --show-* --hide-* --pretty --no-* --follow-imports "
        "--namespace-packages --explicit-package-bases --python-version --platform --check-untyped-defs "
        "--disallow-* --warn-* --implicit-* --exclude* --verbose --version --help --color-output --error-summary "
        "--local-partial-types --enable-error-code --disable-error-code --package --module --txt-report "
        "--html-report --xml-report --junit-xml --any-exprs-report --cobertura-xml-report --non-interactive "
        "--allow-* --scripts-are-modules --enable-incomplete-feature"
    ),
    "ruff": words(
        "-q -s -v -n -h -e --select --ignore --extend-select --extend-ignore --output-format --statistics --show-* "
        "--diff --no-cache --preview --no-preview --target-version --line-length --exclude --extend-exclude "
        "--no-fix --check --exit-zero --quiet --verbose --version --help --isolated --respect-gitignore "
        "--force-exclude --stdin-filename --ignore-noqa --silent --per-file-ignores --color --explain --all"
    ),
    "tsc": words(
        "-v -h --noEmit --noemit --version --help --strict* --skipLibCheck --pretty --incremental --showConfig -b"
    ),
    "eslint": words(
        "-o -h -v --ext --max-warnings --quiet --cache --no-error-on-unmatched-pattern --ignore-pattern --color "
        "--no-color --report-unused-disable-directives* --stdin --stdin-filename --output-file --debug --env "
        "--version --help --no-ignore --no-inline-config --exit-on-fatal-error --pass-on-no-patterns"
    ),
    **dict.fromkeys(
        ("make", "gmake"),
        words(
            "-j -k -n -s -q -B -l -r -R -w -t -i -h -v --jobs --keep-going --dry-run --just-print --silent --quiet "
            "--always-make --load-average --no-print-directory --print-directory --version --help --output-sync -O "
            "--trace -d"
        ),
    ),
    **dict.fromkeys(
        ("pip", "pip3", "uv"),
        words(
            "-v -q -f -l -o -u -V -h --verbose --quiet --files --local --outdated --uptodate --editable --format "
            "--user --all --exclude --not-required --version --help --pre --no-color --disable-pip-version-check "
            "--depth --python-version"
        ),
    ),
    "cargo": words(
        "-p -F -j -q -v -vv -h -r -V -e -i -d --package --features --all-features --no-default-features --release "
        "--workspace --all --lib --bin --bins --test --tests --example --examples --all-targets --bench --benches "
        "--doc --no-run --no-fail-fast --jobs --keep-going --color --frozen --locked --offline --message-format "
        "--profile --verbose --quiet --version --help --exclude --no-deps --format-version --depth --edges --invert "
        "--prefix --duplicates --limit --timings"
    ),
    "go": words(
        "-v -race -run -bench -benchmem -benchtime -count -cover -covermode -coverpkg -coverprofile -timeout -short "
        "-tags -p -parallel -failfast -json -list -mod -o -x -n -cpu -shuffle -skip -m -f -e -deps -find -test -u "
        "-all -c -src -h -cpuprofile -memprofile -trace -outputdir -blockprofile -mutexprofile -ldflags -gcflags "
        "-trimpath -a -asan -msan -fullpath"
    ),
    "rg": words(
        "-n -N -i -S -s -w -x -v -l -c -o -H -I -h -A -B -C -m -t -T -e -f -F -P -U -q -0 -p -M -E -d -j -r -a -b "
        "-g -u -. -z -V --line-number --no-line-number --ignore-case --smart-case --case-sensitive --word-regexp "
        "--line-regexp --invert-match --files-with-matches --files-without-match --count --count-matches "
        "--only-matching --with-filename --no-filename --heading --no-heading --after-context --before-context "
        "--context --max-count --type --type-not --type-list --glob --iglob --glob-case-insensitive --regexp --file "
        "--fixed-strings --pcre2 --multiline --multiline-dotall --quiet --null --pretty --max-columns "
        "--max-columns-preview --encoding --max-depth --max-filesize --threads --replace --text --byte-offset "
        "--color --colors --column --no-column --json --vimgrep --sort --sortr --stats --trim --files --passthru "
        "--engine --version --help --no-messages --no-config --crlf --line-buffered --context-separator "
        "--no-context-separator --hidden --no-hidden --unrestricted --no-ignore* --search-zip --no-mmap --mmap "
        "--one-file-system --null-data --no-unicode --pre --pre-glob --hostname-bin --follow -L"
    ),
    "ag": words(
        "-i -s -S -w -l -L -c -C -A -B -G -Q -F -v -o -n -r -R -U -u -a -t -z -0 -g -H -m --nogroup --group "
        "--nocolor --color --noheading --heading --vimgrep --files-with-matches --files-without-matches "
        "--ignore-case --smart-case --case-sensitive --literal --word-regexp --count --context --after --before "
        "--ignore --ignore-dir --depth --column --nonumbers --numbers --filename --nofilename --stats --silent "
        "--hidden --unrestricted --all-types --all-text --python --js --ts --go --rust --cc --cpp --java --ruby "
        "--html --css --json --yaml --md --markdown --shell --version --help"
    ),
    "jq": words(
        "-r -c -S -e -s -n -R -C -M -j -a -h -V --raw-output* --compact-output --sort-keys --exit-status --slurp "
        "--null-input --raw-input --color-output --monochrome-output --join-output --ascii-output --tab --indent "
        "--arg --argjson --args --jsonargs --slurpfile --rawfile --seq --stream --stream-errors --unbuffered "
        "--version --help"
    ),
    "yq": words(
        "-r -c -S -e -n -C -M -j -o -p -P -I -N -y -Y -0 -V -h --raw-output --output-format --input-format "
        "--prettyPrint --indent --colors --no-colors --no-doc --exit-status --null-input --unwrapScalar --tojson "
        "--yaml-output --yaml-roundtrip --xml-output --toml-output --version --help --string-interpolation"
    ),
    **dict.fromkeys(
        ("bat", "batcat"),
        words(
            "-p -pp -n -A -l -r -H -f -S -h -V --plain --number --show-all --language --line-range --highlight-line "
            "--style --color --decorations --theme --wrap --tabs --terminal-width --list-languages --list-themes "
            "--file-name --diff --diff-context --italic-text --version --help --pager --paging"
        ),
    ),
    **dict.fromkeys(
        ("less", "more", "zless", "zmore", "bzless", "xzless"),
        words(
            "-R -r -S -N -n -F -X -i -I -M -m -e -E -s -p -j -x -b -h -g -G -K -q -Q -u -w -W -J -f -z -P -T -y "
            "--RAW-CONTROL-CHARS --chop-long-lines --LINE-NUMBERS --line-numbers --quit-if-one-screen --no-init "
            "--ignore-case --IGNORE-CASE --pattern --quit-at-eof --squeeze-blank-lines --tabs --version --help "
            "--mouse --use-color --follow-name --silent --quiet"
        ),
    ),
    "man": words(
        "-k -f -w -W -a -S -s -K -L -M -m -e -i -I -d -h -V -P -H -B -l --where --path --location --all --apropos "
        "--whatis --global-apropos --sections --locale --manpath --extension --ignore-case --match-case --regex "
        "--wildcard --names-only --no-subpages --pager --html --local-file --help --version --usage"
    ),
    "info": words(
        "-k -w -a -n -O -h -o --apropos --where --location --all --node --subnodes --usage --help --version --output"
    ),
    "sort": words(
        "-n -r -u -k -t -h -V -f -b -d -g -i -M -R -s -m -c -C -z -S -T -o --numeric-sort --reverse --unique --key "
        "--field-separator --human-numeric-sort --version-sort --ignore-case --stable --check --merge "
        "--zero-terminated --parallel --buffer-size --temporary-directory --batch-size --general-numeric-sort "
        "--month-sort --random-sort --dictionary-order --ignore-leading-blanks --ignore-nonprinting --output "
        "--compress-program --debug --sort --version --help"
    ),
    "tree": words(
        "-a -d -l -L -I -P -f -x -i -h -s -p -u -g -D -F -C -n -J -X -N -q -Q -A -S -H -T -t -c -r -U -v -o -R "
        "--dirsfirst --filesfirst --noreport --gitignore --filelimit --charset --du --prune --matchdirs "
        "--ignore-case --sort --si --inodes --device --metafirst --timefmt --nolinks --info --version --help"
    ),
    "file": words(
        "-b -i -I -L -h -k -N -s -z -Z -0 -p -r -E -v -e -l -F -f -m -C --mime* --brief --dereference "
        "--no-dereference --keep-going --no-pad --extension --raw --apple --print0 --preserve-date --special-files "
        "--uncompress --separator --exclude --exclude-quiet --version --help"
    ),
    "date": words(
        "-u -R -I -d -r -f -s -j -v -n --utc --universal --rfc-* --iso-8601 --date --reference --file --set --debug "
        "--resolution --version --help"
    ),
    "nm": words(
        "-a -A -C -D -g -l -n -o -p -P -r -S -s -u -U -t -f -j -W --demangle* --no-demangle --dynamic "
        "--defined-only --undefined-only --extern-only --external-only --size-sort --numeric-sort --print-size "
        "--debug-syms --format --radix --no-sort --reverse-sort --print-file-name --print-armap --line-numbers "
        "--portability --just-symbols --no-weak --special-syms --synthetic --with-symbol-versions --version --help"
    ),
    "objdump": words(
        "-d -D -S -s -t -T -x -h -f -p -r -R -a -C -M -j -m -b -l -L -w -z -g -e -G -W -F -i -E -V -H "
        "--disassemble* --source* --full-contents --syms --dynamic-syms --all-headers --section-headers --headers "
        "--file-headers --private* --reloc --dynamic-reloc --demangle* --no-show-raw-insn --show-raw-insn --section "
        "--start-address --stop-address --architecture --line-numbers --archive-headers --wide --dwarf "
        "--prefix-addresses --no-addresses --visualize-jumps* --version --help"
    ),
    "size": words("-A -B -G -d -o -x -t -f --format --radix --common --totals --version --help"),
    "cloc": words(
        "--exclude-dir --include-lang --exclude-lang --include-ext --exclude-ext --by-file --by-file-by-lang "
        "--quiet --json --csv --yaml --md --sum-one --hide-rate --match-d --not-match-d --match-f --not-match-f "
        "--version --help --progress-rate --skip-uniqueness --fullpath --out --report-file"
    ),
    "tokei": words(
        "-C -e -f -s -t -l -V -h --columns --exclude --files --sort --types --languages --hidden --version --help "
        "--compact"
    ),
    "lsof": words("-i -p -n -P -t -u -c -d -a -l -s -r -F -R -T -U -w -V -v -h -? -L -N -O -b -g -o -f -E +D +d"),
    "ss": words(
        "-t -u -l -n -p -a -e -m -i -o -s -4 -6 -x -w -r -H -O -b -Z -z -0 -S -h -V -K -F -D --tcp --udp "
        "--listening --numeric --processes --all --extended --memory --info --options --summary --ipv4 --ipv6 "
        "--unix --raw --resolve --no-header --oneline --kill --filter --diag --family --query --version --help"
    ),
    "fd": _FD,
    "fdfind": _FD,
    **dict.fromkeys(
        ("tar", "bsdtar", "gtar"),
        words(
            "-t -f -v -z -j -J -a -C -k -p -O -T -n -w -X -s -d --list --file --verbose --gzip --gunzip --bzip2 "
            "--xz --zstd --lzma --auto-compress --directory --exclude* --wildcards* --no-wildcards "
            "--strip-components --full-time --totals --null --files-from --no-recursion --anchored --no-anchored "
            "--show-transformed-names --diff --compare --quoting-style --numeric-owner --utc --force-local "
            "--occurrence --version --help"
        ),
    ),
    **dict.fromkeys(
        ("diff", "sdiff", "diff3"),
        words(
            "-u -U -r -q -N -w -b -B -i -y -c -C -s -a -x -I -W -t -T -p -E -Z -d -l -n -e -L -F -P -S -m -A -3 -X "
            "-o --unified --recursive --brief --new-file --unidirectional-new-file --ignore-* --side-by-side "
            "--color* --exclude --suppress-* --width --label --strip-trailing-cr --minimal --text "
            "--report-identical-files --no-dereference --context --normal --ed --rcs --expand-tabs --initial-tab "
            "--show-c-function --show-function-line --left-column --speed-large-files --horizon-lines --merge "
            "--version --help --output --diff-program --starting-file --tabsize --paginate"
        ),
    ),
    "journalctl": words(
        "-u -n -f -b -k -p -x -e -r -o -q -t -a -g -S -U -N -F -l -m -c --unit --user-unit --lines --follow --boot "
        "--dmesg --priority --catalog --pager-end --reverse --output --output-fields --quiet --identifier --since "
        "--until --no-pager --all --grep --case-sensitive --list-boots --disk-usage --no-hostname --utc --user "
        "--system --field --fields --no-full --full --header --facility --merge --show-cursor --truncate-newline "
        "--version --help --cursor --after-cursor --no-tail --list-catalog --transport"
    ),
    "systemctl": words(
        "-t -a -l -n -o -q -p -P -r --type --state --all --full --no-pager --no-legend --plain --failed --user "
        "--system --lines --output --property --value --show-types --recursive --reverse --after --before --quiet "
        "--version --help --with-dependencies --no-ask-password --job-mode --timestamp"
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
    if "-x" in allowed and name in ("fd", "fdfind"):  # behind these stands another program
        ends = (at for at, word in enumerate(rest) if word in ("-x", "-X", "--exec", "--exec-batch"))
        rest = rest[: next(ends, len(rest))]
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
