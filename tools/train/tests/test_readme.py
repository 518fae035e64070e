"""The commands of the README, as they are typed in the repository's folder."""

import subprocess

from conftest import HERE, ROOT

# In place of the programs: each notes where it was started.
PROGRAMS = """
note() { echo "$PWD $*" >> "$NOTES"; }
for program in cargo pip python fianchetto fianchetto-prepare fianchetto-convert; do
    eval "$program() { note $program \\"\\$@\\"; }"
done
"""


def test_what_the_commands_make_is_ignored_by_git(tmp_path):
    commands = (HERE.parent / "README.md").read_text().split("```sh\n")[1].split("```")[0]
    root = tmp_path / "root"
    root.mkdir()
    environment = {"PATH": "/usr/bin:/bin", "NOTES": str(tmp_path / "notes")}
    subprocess.run(["bash", "-euc", PROGRAMS + commands], cwd=root, env=environment, check=True)
    notes = [line.split() for line in (tmp_path / "notes").read_text().splitlines()]
    makers = {folder for folder, *command in notes if {"--out", "fianchetto-convert"} & set(command)}
    assert makers == {str(root / "training")}
    assert {path.name for path in root.iterdir()} == {"training"}
    assert "/training" in (ROOT / ".gitignore").read_text().splitlines()
