"""Writes manual pages of the package's programs, from their options, into the folder man, which pip installs.
Usage: manuals.py    (after an option has changed)"""

import argparse
import pathlib

from znni.programs import job, run, view

FOLDER = pathlib.Path(__file__).resolve().parent / "man"


def escaped(text):
    """Returns a text as roff has it, in one line that is no request."""
    line = " ".join(text.split()).replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{line}" if line[:1] in (".", "'") else line


def value_of(action):
    """Returns the name of an option's value, or of an argument; "" for a flag."""
    if action.nargs == 0:
        return ""
    return "|".join(action.choices) if action.choices else action.metavar or action.dest.upper()


def term(action):
    """Returns the line that names an option or an argument."""
    names = ", ".join(f"\\fB{escaped(name)}\\fR" for name in action.option_strings)
    value = f"\\fI{escaped(value_of(action))}\\fR" if value_of(action) else ""
    return f"{names} {value}".strip()


def told(action):
    """Returns the help of an option, its default in place."""
    return escaped(action.help % {**vars(action), "prog": ""})


def synopsis(actions):
    """Returns the arguments of a command."""
    needed = [action for action in actions if action.required]
    return " ".join(["[\\fIOPTION\\fR]...", *(term(action).rpartition(", ")[2] for action in needed)])


def page_of(program, parser, summary, commands):
    """Returns the page of a program, or of a command of it, with its commands, if it has any."""
    actions = [action for action in parser._actions if not isinstance(action, argparse._SubParsersAction)]
    name = program.replace(" ", "-")
    lines = [
        f'.TH {name.upper()} 1 "" "ZNNi" "User Commands"',
        ".SH NAME",
        f"{name} \\- {escaped(summary)}",
        ".SH SYNOPSIS",
        f".B {program}",
        f"\\fICOMMAND\\fR {synopsis([])}" if commands else synopsis(actions),
        ".SH DESCRIPTION",
        escaped(parser.description or f"{summary[:1].upper()}{summary[1:]}."),
    ]
    for command, what in commands.items():
        lines += [".TP", f"\\fB{name}\\-{command}\\fR(1)", escaped(what)]
    lines.append(".SH OPTIONS")
    for action in actions:
        lines += [".TP", term(action), told(action)]
    for line in (parser.epilog or "").splitlines():
        heading, _, text = line.partition(": ")
        lines += [f".SH {heading.upper()}", escaped(text)]
    return "\n".join(lines) + "\n"


def pages():
    """Returns all pages by the names of their files."""
    found = {}
    for parser in (module.make_parser() for module in (job, run, view)):
        program = parser.prog
        summary = parser.description.partition(":")[2].strip().rstrip(".")
        chosen = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
        commands = {one.dest: one.help for action in chosen for one in action._choices_actions}
        found[f"{program}.1"] = page_of(program, parser, summary, commands)
        for command, what in commands.items():
            page = page_of(f"{program} {command}", chosen[0].choices[command], what, {})
            found[f"{program}-{command}.1"] = page
    return found


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text)
