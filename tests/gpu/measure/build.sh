# shellcheck shell=bash disable=SC2034 # measure.sh reads the variables
# What measure.sh compiles: `make` on any machine, and `run` the rest in the background, while it verifies and between
# parts. To be sourced.
#
# A build has a name. OUT/made/NAME says that it is done, and OUT/made/NAME.failed that it went wrong; its log is
# OUT/logs/NAME.

# Prints the names of all builds, those first that the first parts need.
builds() {
  local part
  for part in "${parts[@]}"; do needs "$part"; done | awk '!seen[$0]++'
}

# The specs of the parts layer and moe, which these programs write in a Python that has PyTorch.
python_specs() {
  local bench=$root/python/bench
  rm -rf "$out"/specs/python_*
  (
    export PYTHONPATH=$out/package
    "$python" "$bench/layer.py" --specs "$out/specs/python_layer" --ranks "$ranks" "${layer_options[@]}" &&
      "$python" "$bench/moe.py" --specs "$out/specs/python_moe" --ranks "$ranks" "${moe_options[@]}" &&
      "$python" "$bench/experts.py" --specs "$out/specs/python_experts" --ranks "$ranks" "${experts_options[@]}"
  )
}

# kept NAME WORD …: compiles a harness into OUT/NAME, and keeps of that folder the harness and the words behind it.
kept() {
  local name=$1
  shift
  rm -rf "${out:?}/$name"
  "$tool" "$@" --no-run --keep "$out/$name" --cache "$out/cache/$1" --jobs "$many" \
    >"$out/logs/$name.command" || return 1
  sed -n 's/^not run: [^ ]* *//p' "$out/logs/$name.command" | tr ' ' '\n' >"$out/$name.words"
  find "$out/$name" -mindepth 1 -maxdepth 1 ! -name harness -exec rm -rf {} +
  [ -x "$out/$name/harness" ]
}

# drivers FOLDER TARGET …: compiles drivers of tests/gpu with the programs of OUT/FOLDER.
drivers() {
  local folder=$1 build=$out/build_$1 generator=()
  shift
  ! command -v ninja >/dev/null || generator=(-G Ninja)
  cmake -S "$here" -B "$build" "${generator[@]}" -DTILEPOST_GENERATED_DIR="$out/$folder" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_CUDA_ARCHITECTURES=90a -DTILEPOST_CUDA_ARCHITECTURES=90 -DTILEPOST_TEST_ONE_GPU="${ONE_GPU:+ON}" &&
    cmake --build "$build" -j "$many" --target "$@"
}

# trust_of_few FOLDER JOBS: sets `trust` to the command of trust.sh with the programs of few rows, whose logs and table
# go into FOLDER.
trust_of_few() {
  trust=(env GENERATED="$out/few" BUILD="$out/build_few" OUT="$1" JOBS="$2" PATTERNS="${few_programs[*]}" EACH=70
    SEED="$seed" bash "$here/trust.sh")
}

# compile NAME: does the work of a build.
compile() {
  case $1 in
    verify_*)
      find "$out/specs/$1" -name '*.yaml' | sort | {
        mapfile -t specs
        kept "$1" verify "${specs[@]}" --target cuda --runs 1 --seed "$seed"
      }
      ;;
    bench_* | scales_* | sums_* | graphs)
      local files shapes flags
      bench_set "$1"
      kept "$1" bench "${files[@]}" "${flags[@]}"
      ;;
    profile) kept profile profile --machine h200 ;;
    kernels)
      [ -d "$out/specs/python_layer" ] || python_specs || return 1
      "$tool" catalogue "$out"/specs/python_*/*.yaml -o "$out/kernels" --jobs "$many"
      ;;
    drivers) drivers programs gpu_faults ;;
    experts) drivers experts gpu_experts_ranks gpu_expert_sums gpu_expert_layers ;;
    few)
      local trust
      trust_of_few "$out/logs/trust" "$many"
      "${trust[@]}" build
      ;;
    chain) JOBS=$many bash "$here/chain/chain.sh" make "$tool" "$out/chain" ;;
  esac
}

# build NAME JOBS: compiles, unless that is done, and notes how it ended.
build() {
  local name=$1 many=$2 begin=$SECONDS
  [ ! -e "$out/made/$name" ] || return 0
  rm -f "$out/made/$name.failed"
  if compile "$name" >"$out/logs/$name" 2>&1; then
    echo "compiled $name in $((SECONDS - begin)) s"
    touch "$out/made/$name"
  else
    echo "could not compile $name: $out/logs/$name"
    grep -E -m5 'error|FAILED' "$out/logs/$name" || tail -n 5 "$out/logs/$name"
    touch "$out/made/$name.failed"
    return 1
  fi
}

# queue NAME …: builds one after the other in the background, with a part of the cores. Drivers and harnesses that run
# meanwhile come first.
queue() {
  local name many=$((jobs > 2 ? jobs / 2 : 1))
  (
    for name in "$@"; do
      renice -n 10 -p "$BASHPID" >/dev/null
      until begin_build "$name"; do sleep 1; done
      build "$name" "$many"
      rm -f "$out/made/$name.going"
    done
  ) >>"$results/builds.log" 2>&1 &
  queues+=($!)
}

# begin_build NAME: notes that this build goes on. False while builds are held. The note comes first, so that
# hold_builds sees it, or the build sees that it is held.
begin_build() {
  touch "$out/made/$1.going"
  [ -e "$out/made/held" ] || return 0
  rm -f "$out/made/$1.going"
  return 1
}

# start_builds PART …: begins to compile what these parts lack, in their order. Each queue is a process group, to be
# stopped as one.
start_builds() {
  local part name first=() second=() third=()
  queues=() queued=" "
  rm -f "$out"/made/*.failed "$out"/made/*.going "$out/made/held"
  for part in "$@"; do
    [ "$gpus" -ge "$(gpus_of "$part")" ] || continue
    for name in $(needs "$part"); do
      [ ! -e "$out/made/$name" ] && [[ $queued != *" $name "* ]] || continue
      queued+="$name "
      case $name in
        verify_*) first+=("$name") ;;
        drivers | experts | kernels | few | chain) second+=("$name") ;;
        *) third+=("$name") ;;
      esac
    done
  done
  set -m
  [ ${#first[@]} = 0 ] || queue "${first[@]}"
  [ ${#second[@]} = 0 ] || queue "${second[@]}"
  [ ${#third[@]} = 0 ] || queue "${third[@]}"
  set +m
}

stop_builds() {
  local group
  for group in "${queues[@]}"; do kill -- "-$group" 2>/dev/null; done
  queues=()
}

# hold_builds NAME …: waits until these builds have ended, and until nothing else is compiled, for parts whose times or
# deadlines that would change. No build begins before release_builds.
hold_builds() {
  local name
  for name in "$@"; do
    [[ $queued == *" $name "* ]] || continue
    until [ -e "$out/made/$name" ] || [ -e "$out/made/$name.failed" ] || [ "$(left)" -lt 10 ]; do sleep 1; done
  done
  touch "$out/made/held"
  while compgen -G "$out/made/*.going" >/dev/null && [ "$(left)" -ge 10 ]; do sleep 1; done
}

release_builds() { rm -f "$out/made/held"; }

# wait_for NAME …: waits for builds. False if one has failed, or if the time is over.
wait_for() {
  local name said=
  for name in "$@"; do
    while [ ! -e "$out/made/$name" ]; do
      if [ -e "$out/made/$name.failed" ]; then
        note "$name" "FAILED to compile: $(grep -E -m1 'error|FAILED' "$out/logs/$name" || tail -n 1 "$out/logs/$name")"
        cp "$out/logs/$name" "$results/$name.build.log"
        failed=1
        return 1
      fi
      if [ "$(left)" -lt 10 ]; then
        note "$name" "no time left to compile it"
        late=1
        return 1
      fi
      [ -n "$said" ] || echo "== waiting for the compilers of $name"
      said=1
      sleep 1
    done
  done
}
