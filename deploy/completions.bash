# Completes the options and commands of the project's programs in bash, from their own help texts:
#   . deploy/completions.bash

# _znni_help COMMAND...: prints the help text of a program, or of a command of it.
_znni_help() { "$@" --help 2>/dev/null </dev/null; }

# _znni_commands PROGRAM: prints the commands that its help text lists, and those of other programs that `znni` runs.
_znni_commands() {
  _znni_help "$1" | sed -nE '/^Subcommands:/,/^$/s/^  ([a-z-]+),? .*/\1/p'
  [ "${1##*/}" != znni ] || compgen -c znni- | sed 's/^znni-//'
}

_znni_complete() {
  local word=${COMP_WORDS[COMP_CWORD]} program=${COMP_WORDS[0]} command="" options
  if [[ $word == -* ]]; then
    [[ $COMP_CWORD -gt 1 && ${COMP_WORDS[1]} != -* ]] && command=${COMP_WORDS[1]}
    # The options of a program may stand behind its command, too.
    options=$({ _znni_help "$program"; [ -z "$command" ] || _znni_help "$program" "$command"; } | grep -oE -- '--[a-zA-Z][a-zA-Z0-9-]*' | sort -u)
    COMPREPLY=($(compgen -W "$options" -- "$word"))
  elif [ "$COMP_CWORD" = 1 ]; then
    COMPREPLY=($(compgen -W "$(_znni_commands "$program")" -- "$word"))
  fi
}

# Where nothing fits, files are completed.
complete -o bashdefault -o default -F _znni_complete planner znni znnid znni-job znni-planner znni-run znni-train
