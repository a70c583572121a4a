"""`.pym` scripts: what the sandbox will refuse is found before a run."""

import pytest

from bridge.agents.scripts import check_scripts

USE = "use read_file(), list_files(), search_text(), run_command()"

REFUSED = {
    # An older dialect: a function that gets its arguments in a mapping.
    "def run(inputs):\n    return {'ok': True}\n": "1: it ends with 'run', which "
    "nothing calls: the result is the value of the last expression, so add run(…) "
    "below; the arguments are variables",
    "1\nasync def main():\n    pass\n": "2: it ends with 'main', which nothing calls",
    "import os\n\ndef run(inputs):\n    return os.environ\n": "3: it ends with 'run'",
    "import os\nos.listdir('.')\n": f"2: os.listdir does not work: {USE}",
    "import os.path\nos.path.exists(file)\n": f"2: os.path.exists does not work: {USE}",
    "from os import environ\n1\n": f"1: os.environ does not work: {USE}",
    "import subprocess\nsubprocess.run(file)\n": f"1: there is no module 'subprocess': "
    f"{USE}",
    "def f():\n    import shutil\nf()\n": f"2: there is no module 'shutil': {USE}",
    "from grail import external\nexternal\n": f"1: there is no module 'grail': {USE}",
    "with open(file) as f:\n    f.read()\n": f"1: open() opens no file: {USE}",
    "from pathlib import Path\nPath(file).read_text()\n": f"2: .read_text() reaches no "
    f"file: {USE}",
    "a = 1\na + missing\n": "2: name 'missing' is not defined",
    "def f():\n    return inputs['x']\nf()\n": "2: name 'inputs' is not defined",
    "import a, urllib.request\n1\n": f"1: there is no module 'urllib.request': {USE}",
}


def problems(code, tmp_path):
    path = tmp_path / "a.pym"
    found = check_scripts({path: code}, {path: {"file", "node_text"}})
    return [f"{p.line}: {p.message}" for p in found]


@pytest.mark.parametrize("code", REFUSED)
def test_error_a_script_that_the_sandbox_will_refuse(code, tmp_path):
    """Its syntax is valid, so only a run would fail."""
    line, _, message = REFUSED[code].partition(": ")

    [found] = problems(code, tmp_path)

    assert found.startswith(f"{line}: cannot run here: {message}")


FINE = [
    "",
    "x = run_command('a')\nx['output']\n",
    "def f(z):\n    return z + later\nlater = 3\nf(1)\n",
    "import os\nos.path.join('a', file)\n",
    "from pathlib import Path\nPath(file).name\n",
    "import json, re, math\njson.dumps(read_file(file))\n",
    "try:\n    import tomllib\nexcept ImportError:\n    tomllib = None\n1\n",
    "try:\n    import requests\nexcept ImportError:\n    requests = None\n1\n",
    "try:\n    1 / 0\nexcept Exception as e:\n    print(str(e))\n",
    "print(file)\ndef f():\n    pass\n",
    "def f():\n    global q\n    q = 1\nf()\nq\n",
    "(lambda a: a + node_text)(file)\n",
    "[a for a in [1] if (b := a)]\n",
    "class A:\n    x = file\nA().x\n",
]


@pytest.mark.parametrize("code", FINE)
def test_a_valid_script(code, tmp_path):
    assert problems(code, tmp_path) == []


def test_the_check_runs_nothing(tmp_path):
    """A script may be checked before it is trusted."""
    assert problems("while True:\n    pass\n1\n", tmp_path) == []


def test_a_long_script_is_checked(tmp_path):
    assert problems("import os\n" + "a = os" + ".path" * 150 + "\na\n", tmp_path)
    assert problems("x = 1\n" + "x\n" * 20_000, tmp_path) == []
