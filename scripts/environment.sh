# Sourced by run, test, interop and .ci/run. Makes .venv in the project's root and installs into it
# what the caller names; does nothing when that is already there and pyproject.toml has not changed.
# shellcheck shell=sh

fail() {
    printf 'error: %s\n  why: %s\n  do:  %s\n' "$1" "$2" "$3" >&2
    exit 1
}

find_python() {
    for candidate in "${PYTHON:-}" python3 python3.14 python3.13 python3.12 python3.11; do
        [ -n "$candidate" ] || continue
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            printf '%s\n' "$candidate"
            return 0
        fi
    done
    return 1
}

# ensure_environment [EXTRAS]: .venv with the project installed in place, and its extras ("test", "test,lint").
ensure_environment() {
    extras=${1:-}
    root=${COSMODROME_ROOT:?}
    venv="$root/.venv"
    if [ ! -x "$venv/bin/python" ]; then
        python=$(find_python) || fail "no Python 3.11 or newer found" \
            "tried python3 and python3.11 to python3.14 on PATH" "install one, or set PYTHON=/path/to/python3"
        echo "making a private environment in .venv with $("$python" --version) ..." >&2
        "$python" -m venv "$venv" || fail "cannot make a virtual environment" \
            "'$python -m venv' failed, see above" "on Debian and Ubuntu: apt-get install python3-venv"
    fi
    wanted="$extras $(cksum "$root/pyproject.toml")"
    stamp="$venv/.installed-$(printf '%s' "${extras:-base}" | tr ',' '-')"
    if [ ! -f "$stamp" ] || [ "$(cat "$stamp")" != "$wanted" ]; then
        echo "installing cosmodrome${extras:+ [$extras]} ..." >&2
        "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --editable "$root${extras:+[$extras]}" ||
            fail "cannot install cosmodrome" "pip failed, see above" "check that this machine reaches PyPI"
        printf '%s' "$wanted" >"$stamp"
    fi
    PATH="$venv/bin:$PATH"
    export PATH
}
