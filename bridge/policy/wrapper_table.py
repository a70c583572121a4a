"""The programs that start others, and how their arguments are to be read. Pure.

A row tells which options take a value, for a value is not the program.

Source: the manuals of the programs named.
"""

import re
from collections import namedtuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# The words of a program that is started.
Argv = namedtuple("Argv", "words")  # noqa: PYI024 - typing costs time
# Text that a shell reads.
Script = namedtuple("Script", "text")  # noqa: PYI024 - typing costs time
# What cannot be read as a command: its text, or None if that is not known.
Opaque = namedtuple("Opaque", "text")  # noqa: PYI024 - typing costs time
# Code of a language, or None if it comes in, and the words behind it.
Code = namedtuple("Code", "text words language")  # noqa: PYI024 - typing costs time
# What comes in by standard input is read: by a shell, or by something else.
Stdin = namedtuple("Stdin", "is_shell")  # noqa: PYI024 - typing costs time
# What may be started by any of its words, and by what comes in.
Foreign = namedtuple("Foreign", "words")  # noqa: PYI024 - typing costs time
Started = Argv | Script | Opaque | Code | Stdin | Foreign


def _options(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _rows(names: str, wrapper: "Wrapper") -> dict[str, "Wrapper"]:
    return dict.fromkeys(names.split(", "), wrapper)


class Wrapper:
    """How to find the program in the arguments of another.

    Attributes:
        values: options that take a value.
        skip: how many operands stand before the program.
        sets: whether `NAME=value` may stand before it.
        scripts: options whose value a shell reads.
        modules: options whose value is the program, as in `python -m`.
        codes: options whose value is code for something that is no shell.
        none: with these nothing is started: `command -v`.
        is_script: operands together are text for a shell: `watch`, `eval`.
        is_dashed: the program stands after `--` only.
        has_version: the program may be written `name@version`.
    """

    skip = 0
    sets = is_script = is_dashed = has_version = False

    def __init__(
        self,
        values: str = "",
        *,
        scripts: str = "",
        modules: str = "",
        codes: str = "",
        none: str = "",
        **more: object,
    ) -> None:
        self.scripts = _options(scripts)
        self.modules = _options(modules)
        self.codes = _options(codes)
        self.none = _options(none)
        self.values = _options(values) | self.scripts | self.modules | self.codes
        self.__dict__.update(more)


_RUN = Wrapper()
_PACKAGE = Wrapper(
    "-p --package --from --with --python --index-url", scripts="-c --call",
    has_version=True,
)  # fmt: skip
PYTHON = Wrapper("-W -X --check-hash-based-pycs", modules="-m", codes="-c")

WRAPPERS = {
    **_rows(
        "nohup, setsid, unbuffer, firejail, valgrind, builtin, busybox, runpy, "
        "git bisect run, poetry run, pipenv run, rye run, bun run, yarn run, "
        "bundle exec, rbenv exec, pyenv exec, asdf exec, rtk, chronic, fakeroot, "
        "eatmydata, dumb-init, tini, catchsegv, ddtrace-run, heaptrack, torsocks, "
        "tsocks, opentelemetry-instrument, git for-each-repo", _RUN,
    ),
    **_rows(
        "dotenvx run, infisical run, chamber exec, teller run, opam exec, stack exec, "
        "cabal exec, aws-vault exec", Wrapper(is_dashed=True),
    ),
    # Of Python: a module, or a file that is a program.
    **_rows(
        "memray run, slipcover, scalene, viztracer, pyinstrument, kernprof, "
        "accelerate launch, torchrun",
        Wrapper(
            "-o --output --outfile -r --renderer --out --source --omit --nnodes "
            "--nproc_per_node --nproc-per-node --num_processes", modules="-m --module",
        ),
    ),
    **_rows("py-spy record, py-spy top", Wrapper("-o -f -d -r", none="-p --pid")),
    **_rows(
        "mpirun, mpiexec, srun",
        Wrapper("-n -np -N -c -H -p -t -J -A -w -x --host --hostfile --map-by"),
    ),
    **_rows("cross-env, cross-env-shell", Wrapper(sets=True)),
    **_rows(
        "uvx, uv tool run, npx, bunx, bun x, npm exec, npm x, pnpm exec, pnpm dlx, "
        "yarn exec, yarn dlx", _PACKAGE,
    ),
    **_rows(
        "conda run, mamba run, micromamba run",
        Wrapper("-n --name -p --prefix --cwd"),
    ),
    **_rows("mise exec, mise x", Wrapper(is_dashed=True, scripts="-c --command")),
    **_rows("timeout, gtimeout", Wrapper("-s --signal -k --kill-after", skip=1)),
    **_rows(
        "strace, ltrace",
        Wrapper("-o -e -p -s -E -u -a -O -P -S -I -b -X -n -l -F -A -w"),
    ),
    **_rows("pdb, pdb3", Wrapper("-c", modules="-m")),
    **_rows("nix develop, nix shell", Wrapper(modules="-c --command", skip=99)),
    # The environment, the user, the time, the terminal.
    "env": Wrapper("-u --unset -C --chdir", sets=True, scripts="-S --split-string"),
    "sudo": Wrapper(
        "-u --user -g --group -h --host -p --prompt -C --close-from -T "
        "--command-timeout -r --role -t --type -D --chdir -R --chroot -U --other-user",
        sets=True, none="-l --list -v --validate -K -e --edit -V --version",
    ),
    "doas": Wrapper("-u -C"),
    "su": Wrapper("-s --shell -g -G -w", scripts="-c --command", skip=99),
    "sg": Wrapper(skip=1, scripts="-c"),
    "pkexec": Wrapper("--user"),
    "time": Wrapper("-f --format -o --output", sets=True),
    "nice": Wrapper("-n --adjustment"),
    "ionice": Wrapper("-c --class -n --classdata", none="-p --pid"),
    "chrt": Wrapper("-T -P -D", skip=1, none="-p --pid -m"),
    "taskset": Wrapper(skip=1, none="-p --pid"),
    "stdbuf": Wrapper("-i --input -o --output -e --error"),
    "xvfb-run": Wrapper("-e --error-file -f --auth-file -n --server-num -s -p -w"),
    "dbus-run-session": Wrapper("--config-file"),
    "caffeinate": Wrapper("-t -w"),
    "systemd-run": Wrapper("-p --property -u --unit -M --machine -E --setenv --slice"),
    "chroot": Wrapper("--groups --userspec", skip=1),
    "unshare": Wrapper("-S --setuid -G --setgid -R --root -w --wd"),
    "nsenter": Wrapper("-t --target -S --setuid -G --setgid"),
    "faketime": Wrapper("-f", skip=1),
    "perf record": Wrapper("-e -F -o -g -p -t -C -c --call-graph"),
    "perf stat": Wrapper("-e -o -r -p -t -I"),
    "gdb": Wrapper("-x", codes="-ex -iex -eval-command", none="-p --pid"),
    "flock": Wrapper(
        "-w --wait --timeout -E --conflict-exit-code", skip=1, scripts="-c --command"
    ),
    "script": Wrapper(
        "-T -I -O -B -E -m -o --log-out --log-in --echo", skip=1,
        scripts="-c --command",
    ),
    "expect": Wrapper(codes="-c"),
    # Builtins.
    "command": Wrapper(none="-v -V"),
    "exec": Wrapper("-a"),
    "eval": Wrapper(is_script=True),
    # Once for each of something.
    "xargs": Wrapper(
        "-I -n -P -d -L -a -s -E --max-args --max-procs --delimiter --arg-file "
        "--max-lines --max-chars"
    ),
    "watch": Wrapper("-n --interval -q --equexit", is_script=True),
    "parallel": Wrapper(
        "-j --jobs -a --arg-file -I -n -N --colsep --joblog --timeout --delay "
        "--results --workdir --tmpdir -S --retries",
        is_script=True,
    ),
    "entr": Wrapper(scripts="-s"),
    "hyperfine": Wrapper(
        "-w --warmup -m --min-runs -M --max-runs -r --runs -P -D -L -S --shell -n "
        "--command-name --export-json --export-markdown --export-csv --style -u",
        scripts="-p --prepare -s --setup -c --cleanup --conclude", is_script=True,
    ),
    "git submodule foreach": Wrapper(is_script=True),
    "git rebase": Wrapper("--onto -s -X", scripts="-x --exec", skip=99),
    # Packages of a language.
    "uv run": Wrapper(
        "--with --with-editable --with-requirements -p --python --extra --group "
        "--only-group --no-group --no-extra --project --directory --env-file --package "
        "--index --default-index -i --index-url --extra-index-url --config-file "
        "--cache-dir --refresh-package --color -C --config-setting --link-mode "
        "--isolated-from -P --upgrade-package",
        modules="-m --module",
    ),
    "pipx run": Wrapper("--spec --python --pip-args --index-url -i", has_version=True),
    "pdm run": Wrapper("-p --project --venv"),
    "pixi run": Wrapper("-e --environment --manifest-path"),
    "hatch run": Wrapper(sets=True),
    "hatch env run": Wrapper("-e --env"),
    "tox exec": Wrapper(is_dashed=True),
    "coverage run": Wrapper(
        "--source --omit --include --rcfile --data-file --concurrency --context "
        "--debug", modules="-m --module",
    ),
    "cProfile": Wrapper("-o -s", modules="-m"),
    "trace": Wrapper(modules="--module"),
    "ipython": Wrapper(modules="-m", codes="-c"),
    **_rows(
        "yarn add, yarn remove, yarn why, yarn upgrade, pnpm add, pnpm remove, "
        "pnpm why, pnpm update", Wrapper(skip=99),
    ),
    "yarn": Wrapper("--cwd"),
    "pnpm": Wrapper("--prefix -C --dir -F --filter"),
    "direnv exec": Wrapper(skip=1),
    "nix-shell": Wrapper(
        "-p --packages -A --attr -I", skip=99, scripts="--run --command"
    ),
    "dotenv": Wrapper("-f --file -e"),
    "dotenv run": Wrapper("-f --file"),
    "doppler run": Wrapper(is_dashed=True, scripts="--command"),
    "op run": Wrapper(is_dashed=True),
    "ssh-agent": Wrapper("-a -E -O -P -t"),
    # Code of other languages.
    "node": Wrapper("-r --require --import", codes="-e --eval -p --print -pe"),
    "ruby": Wrapper("-I -r", codes="-e"),
    "perl": Wrapper("-I -M -m", codes="-e -E"),
    "php": Wrapper("-d -c -f", codes="-r"),
    "trap": Wrapper(is_script=True),
}  # fmt: skip

# What these start may be elsewhere, or later; their arguments say it in some way, or
# what they read.
ELSEWHERE = frozenset({
    "docker run", "docker exec", "docker compose run", "docker compose exec",
    "docker-compose run", "docker-compose exec", "podman run", "podman exec",
    "kubectl exec", "kubectl run", "gcloud compute ssh", "vagrant ssh", "nix run",
    "deno eval", "bun exec", "yarn workspace", "cargo watch", "cargo exec", "mix run",
    "flatpak run", "ip netns exec", "meson devenv", "gh codespace ssh", "corepack",
    "deno run", "heroku run", "gh alias set", "glab alias set",
})  # fmt: skip
# What these start by an option: its value, or what follows.
OPTIONS = {
    name: _options(options)
    for names, options in {
        "tar": "-I -F --use-compress-program --to-command --checkpoint-action "
        "--rsh-command --rmt-command --info-script --new-volume-script",
        "rsync": "-e --rsh --rsync-path",
        "scp, sftp": "-S -o",
        "sort": "--compress-program",
        "split": "--filter",
        "rg": "--pre",
        "fzf": "--bind --preview",
        "man": "-P --pager",
        "less": "+!",
        "zip": "-TT --unzip-command",
        "wget": "--use-askpass",
        "cpio": "--rsh-command",
        "nc, ncat": "-e -c --exec --sh-exec",
        "make, gmake": "-E --eval",
        "just": "-c --command",
        "cmake": "-E",
        "ctest": "--test-command",
        "bun": "-e -p --eval --print",
        "swift, mix": "-e",
        "complete, compgen, mapfile, readarray": "-C",
        "go run, go test, go vet, go build, go install": "-exec -toolexec -vettool",
        "cc, gcc, c++, g++, clang, clang++": "-wrapper",
        "cargo": "--config",
        "ansible": "-a --args",
        "git grep": "-O --open-files-in-pager",
        "git clone": "-u -c --upload-pack --config",
        "git fetch, git pull, git ls-remote": "--upload-pack",
        "git archive": "--exec",
        "git difftool": "-x --extcmd",
        "git send-email": "--smtp-server --sendmail-cmd --to-cmd --cc-cmd",
        "git filter-branch": "--setup --env-filter --tree-filter --index-filter "
        "--parent-filter --msg-filter --commit-filter --tag-name-filter",
    }.items()
    for name in names.split(", ")
}  # fmt: skip
# Options that take a value and stand before the subcommand.
GLOBALS = {
    "git": _options(
        "-C -c --git-dir --work-tree --namespace --exec-path "
        "--config-env --attr-source --shallow-file"
    ),
    "uv": _options("--directory --project --config-file --cache-dir --color"),
    "poetry": _options("-C --directory -P --project"),
    "npm": _options("--prefix -C -w --workspace"),
    "pnpm": _options("-C --dir -F --filter"),
    "yarn": frozenset(["--cwd"]),
    "pdm": _options("-p --project -c --config"),
    "docker": _options("-c --context -H --host -l --config --log-level"),
    "docker compose": _options("-f --file -p --project-name --profile"),
    "docker-compose": _options("-f --file -p --project-name --profile"),
    "kubectl": _options("-n --namespace --context --kubeconfig"),
    "cargo": _options("-C --config --color"),
    "gh": _options("-R --repo"),
    "hostbridge": _options("-C --directory"),
    "dotenv": _options("-f --file -e"),
}
# Programs that start nothing that their arguments name: `pip install pytest`. Some
# start a program by a subcommand or an option, as above. Of a program that is in none
# of these tables, an argument may be what it starts.
_STARTS_NOTHING = """
    7z : [ [[ ack act actionlint ag age alias ansible ansible-playbook apk apropos
    apt apt-cache apt-get ar asdf ava awk aws az bandit base32 base64 basename bat
    bazel bd bg biome black break brew buildah bun bundle bzip2 c++ cal cargo cat cc cd
    cf chgrp chmod choco chown cksum clang clang++ clang-format clang-tidy claude
    clear cmake cmp code col column comm compgen complete composer conda continue
    corepack coverage cp cpio createdb csplit ctest curl cursor cut cypress date dd
    declare delta deno df diff diff3 dig dir dircolors direnv dirname dirs disown
    dnf docker docker-compose doctl dos2unix dotnet dpkg dropdb du dune echo egrep
    eksctl enable eslint exit expand export expr eza factor false fd fdfind fg
    fgrep file find firebase flake8 flatpak flyctl fmt fold free ftp fzf g++ gawk
    gcc gcloud gem getopts gh git gitleaks glab go gofmt golangci-lint gpg gradle
    gradlew grep groups grunt gsutil gulp gunzip gzip hadolint hash hatch head helm
    help heroku hexdump hg host hostbridge hostid hostname htop http https
    hub iconv id ifconfig info install ip isort javac jest jj jobs join journalctl
    jq just kill killall kubectl kubectx kustomize lake last launchctl lazygit ld
    lein less link ln local locate login logname logout look ls lsblk lscpu lsd lsof
    lz4 make mamba man mapfile mawk md5sum meson micro micromamba minikube mise mix
    mkdir mkfifo mknod mktemp mocha mongo mongosh more mount mv mvn mvnw mypy
    mysqldump nano nawk nc ncat netlify netstat ninja nix nix-env nl nm notify-send
    nox npm nproc npx nslookup numfmt nvm nx od opam open openssl pacman pandoc
    paste patch pbcopy pbpaste pdm pg_dump pg_isready pgrep phpstan phpunit pidof
    ping pip pip-audit pip-compile pip3 pipenv pipx pixi pkill playwright pnpm
    podman poetry popd port pre-commit prettier printenv printf ps pulumi pushd pwd
    pyenv pylint pyright pytest rails railway rake rbenv read readarray readelf
    readlink readonly realpath rebar3 redis-cli reset return rev rg rga rm rmdir rpm
    rspec rsync rubocop ruff rustc rustup rye say sbt scoop scp sed seq service set
    sftp sha1sum sha256sum sha512sum shasum shellcheck shfmt shift shopt shred shuf
    size skaffold skopeo sleep snap sort split ss ssh-add ssh-copy-id ssh-keygen
    ssh-keyscan stack stat strings stripe stty stylelint subl sum supabase svn swift
    sync sysctl systemctl tac tail tar task tee terraform test tig times tldr tofu
    top touch tox tput tr traceroute tree true truncate tsc tsort tty turbo twine
    type typeset ulimit umask umount unalias uname unexpand uniq unlink unrar unset
    unzip uptime users uv uvx vagrant vault vcpkg vercel vitest vmstat volta w wait
    wc wget whatis whereis which who whoami winget wl-copy wrangler xclip xcodebuild
    xdg-open xmllint xxd xz yamllint yarn yes yq yum zcat zed zgrep zig zip zstd
    zypper
"""
PLAIN = frozenset(_STARTS_NOTHING.split())
AWKS = ("awk", "gawk", "mawk", "nawk")
MAKES = ("make", "gmake")
# Code that starts other programs, and names that some builtins evaluate once more:
# `printf -v 'a[$(x)]'`, `git -c core.pager=x`.
STARTS: "dict[str, Callable[[str], object]]" = {
    **dict.fromkeys(AWKS, re.compile(r"system|\|").search),
    "sed": re.compile(r"(?:^|[\d$,;/{])\s*e\b").search,
    "git": re.compile(r"(?:-c)?\w+\.[\w.-]+=").match,
    **dict.fromkeys(
        ("printf", "read", "test", "[", "let", "mapfile", "readarray"),
        lambda word: "[" in word and ("$" in word or "`" in word),
    ),
}
# They are told what to start by a file, from `-f -`, too.
RECIPES = frozenset({*AWKS, *MAKES, "just", "ninja", "sed"})
