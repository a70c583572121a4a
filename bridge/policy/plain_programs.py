"""Programs that start nothing that their arguments name: `pip install pytest`. Pure.

Some start a program by a subcommand or an option: `wrapper_table` has those. Of a
program that neither knows, an argument may be what it starts.
"""

_NAMES = """
    7z : [ [[ ack act actionlint ag age alias ansible ansible-playbook apk apropos
    apt apt-cache apt-get ar asdf ava awk aws az bandit base32 base64 basename bat
    bazel bg biome black break brew buildah bun bundle bzip2 c++ cal cargo cat cc cd
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
PLAIN = frozenset(_NAMES.split())
