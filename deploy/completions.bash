# Completes the options and commands of the project's programs in bash, from their own help texts:
#   . deploy/completions.bash

# _znni_help COMMAND...: prints the help text of a program, or of a command of it.
_znni_help() { "$@" --help 2>/dev/null </dev/null; }

# _znni_commands PROGRAM: prints the commands that its help text lists, and those of other programs that `znni` runs.
_znni_commands() {
  _znni_help "$1" | sed -nE '/^Subcommands:/,/^$/s/^  ([a-z-]+)(, ([a-z-]+))?  .*/\1\n\3/p'
  [ "${1##*/}" != znni ] || { printf 'check\nhelp\n'; compgen -c znni- | sed 's/^znni-//'; }
}

# _znni_options PROGRAM [COMMAND]: prints the options of both: those of a program may stand behind its command.
_znni_options() {
  { _znni_help "$1"; [ $# = 1 ] || _znni_help "$@"; } | grep -oE -- '--[a-zA-Z][a-zA-Z0-9-]*'
}

# _znni_offer WORD: offers those of the words on standard input that begin so, each once.
_znni_offer() { mapfile -t COMPREPLY < <(compgen -W "$(sort -u)" -- "$1"); }

_znni_complete() {
  local word=${COMP_WORDS[COMP_CWORD]} program=${COMP_WORDS[0]} command=${COMP_WORDS[1]}
  # As it may be written on the line: ~/bin/znni, $bin/znni.
  [[ ! $program =~ ^[~A-Za-z0-9_./\${}-]+$ ]] || eval "program=$program"
  if [ "$COMP_CWORD" = 1 ] && [[ $word != -* ]] || [ "$COMP_CWORD-$command" = 2-help ]; then
    _znni_offer "$word" < <(_znni_commands "$program")
  elif [[ $word == -* ]] && [ "$COMP_CWORD" -gt 1 ] && [[ $command != -* ]]; then
    _znni_offer "$word" < <(_znni_options "$program" "$command")
  elif [[ $word == -* ]]; then
    _znni_offer "$word" < <(_znni_options "$program")
  fi
}

# Where nothing fits, files are completed.
complete -o bashdefault -o default -F _znni_complete \
  planner znni znnid znni-bench znni-job znni-planner znni-run znni-train znni-view
