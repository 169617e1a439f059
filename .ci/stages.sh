# Sourced by .ci/run, after deploy/lib/setup.sh: stages one after the other, and a line of others in the background,
# which has the processors while the first wait. At its end the script stops what is left of the line. It prints the
# time of each stage, and what the array `untested` names.

stages=() untested=() stage="" started=0 line=""
declare -A processes=()
rm -rf "$root/build/stages"
mkdir -p "$root/build/stages"

# begin_stage NAME: ends the stage before it.
begin_stage() {
  end_stage
  stage=$1 started=$SECONDS
  say "$1 (after $SECONDS s)"
}

end_stage() {
  [ -z "$stage" ] || stages+=("$(stage_row "$started" "$SECONDS" "$stage")")
  stage=""
}

# stage_row FROM TO NAME: prints a line of the table.
stage_row() { printf '%6d %6d %6d s  %s\n' "$1" "$2" $(($2 - $1)) "$3"; }

# beside NAME COMMAND...: puts a stage at the end of the line. Its output goes to build/stages/NAME.log.
beside() {
  local name=$1 before=$line
  shift
  # With job control, a background job is a process group, which can be stopped as a whole.
  set -m
  run_beside "$name" "$before" "$@" >"$root/build/stages/$name.log" 2>&1 </dev/null &
  set +m
  line=$!
  processes[$name]=$line
}

# run_beside NAME BEFORE COMMAND...: runs the command once the process BEFORE, if any, has ended, and keeps its times.
run_beside() {
  stage=$1
  local before=$2
  shift 2
  # Whatever else is ready to run comes first.
  chrt --idle --pid 0 "$BASHPID" || echo "chrt is refused here: this stage has the priority of all others"
  [ -z "$before" ] || tail --pid="$before" -f /dev/null
  started=$SECONDS
  trap 'stage_row "$started" "$SECONDS" "$stage, in the background" >"$root/build/stages/$stage.row"' EXIT
  "$@"
}

# await NAME: waits for a stage of the line. If it failed, prints its log and fails.
await() {
  begin_stage "waiting for: $1"
  local code=0
  wait "${processes[$1]}" || code=$?
  unset "processes[$1]"
  [ $code = 0 ] && return
  cat "$root/build/stages/$1.log"
  die "$1 failed, in the background"
}

# stop PROCESS: ends a stage in the background, and by force what its shell starts in that moment.
stop() {
  while kill -0 "$1"; do kill -- "-$1"; sleep 0.5; done 2>/dev/null
  kill -KILL -- "-$1" 2>/dev/null || true
}

# Prints the stages in the order in which they began, and on the last line what was not tested.
report() {
  local code=$? last=$stage process
  for process in "${processes[@]}"; do stop "$process"; done
  end_stage
  printf '\n== stages\n%6s %6s\n' from to
  { printf '%s\n' "${stages[@]}"; cat "$root"/build/stages/*.row 2>/dev/null || true; } | sort -n
  stage_row 0 "$SECONDS" "in all"
  [ $code = 0 ] || echo "FAILED: $last"
  echo "NOT TESTED HERE, ${#untested[@]}: $(printf '%s; ' "${untested[@]:-nothing}")"
}
trap report EXIT
trap 'exit 130' INT
