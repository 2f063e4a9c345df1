#!/usr/bin/env bash
# Generates the programs that the drivers in tests/gpu/trust run.
#
#   programs.sh TILEPOST OUT RANKS [SET …]   all sets but experts…, sums and layers if none is named
#
# Environment: TRANSPORTS, those of the sets main and small; all if it is empty.
#
# TILEPOST is the generator. OUT is to be given to tests/gpu as TILEPOST_GENERATED_DIR. A program's name says
# what it is: <pattern>[_<routing>]_<transport>, with nccl2 for two lanes and _any for any m. Sets:
#
#   main        every pattern by every transport, two to four groups of 4096x1536x512, and some for any m
#   small       small_…: the same, as small as is sensible: for compute-sanitizer
#   fused       …_whole: kernels that are a whole run, as the model chooses them where no groups are asked for: sums in
#               the epilogue (ar, rs), tiles in others' outputs (a2a_even), rows of A that helper warps push (ag, in_even)
#   few         ar_tiles_…, rs_tiles_…, a2a_even_tiles_…: few rows, whose kernels exchange tiles, in every number of
#               shots, of one m and of any; …_norm: whose rows are normalised there; ag_tiles…: rows of A;
#               …_scales: with scales of blocks; …_quantised: whose output has 8 bits;
#               small_ar_tiles_… and so on: the same
#   scales      …_scales: scales of blocks in every pattern, by copies and by kernels; …_turns_scales: tiles at which
#               consumers take turns, whose rows arrive meanwhile
#   tiles       ar_peer_128x192 and so on: every tile of gemm_sm90 that leaves a helper warp room
#   ranges      …_ranges_…any: several kernels, each for a range of m: by the transports that the model chooses, in the
#               same memory; wide: others than for fewer columns
#   own         own_…: kernels of tests/own/kernels, woven; own_marked_…: those with marks
#   pairs       big_…, mate_…: what beside.cpp runs on two streams, a GEMM that holds all SMs and others
#   neighbours  …_nb: planned to run beside foreign collectives
#   residual    residual_…: for one rank, whose epilogue adds a residual, by every family of kernels: for in_place.cpp
#   experts     experts_…: tokens that go to experts: with bilinear, with swiglu, and with a bound on rows: for
#               experts_ranks.cpp
#   experts_long experts_…: as experts, with a K so long that consumers share tiles; few routings are enough
#   sums        sums_…: sums of tokens by every transport, with a residual, with more columns, and with a bound on rows:
#               for expert_sums.cpp
#   layers      layer_<name>_up, _down and _whole: layers of experts as models have them, by halves and as one operation:
#               for expert_layers.cpp
#
# OUT/refused.txt lists what the spec does not allow, with the generator's words.
set -euo pipefail
[ $# -ge 3 ] || { sed -n '2,35p' "$0" >&2; exit 2; }
tool=$(readlink -f "$1") out=$2 ranks=$3
shift 3
transports=${TRANSPORTS:-nccl nccl2 nccl_symmetric host_copies copy_engine peer none}
[ $# -gt 0 ] || set -- main small fused few scales tiles ranges own pairs neighbours residual

# spec <name> <pattern> <transport> <m> <n> <k>: prints a spec.
spec() {
  printf '{tilepost: 1, name: %s, pattern: %s, ranks: %s, arch: sm_90a,\n' "$1" "$2" "$ranks"
  printf ' transport: %s, gemm: {m: %s, n: %s, k: %s, a: bf16}}\n' "$3" "$4" "$5" "$6"
}

# make <name> <pattern> <transport> <m>x<n>x<k> [override …]: generates a program. Groups too are given as an
# override. A program that is refused is listed.
make() {
  local name=$1 pattern=$2 transport=$3 m n k flags=() word
  IFS=x read -r m n k <<<"$4"
  shift 4
  for word in "$@"; do flags+=(-D "$word"); done
  spec "$name" "$pattern" "$transport" "$m" "$n" "$k" >"$out/specs/$name.yaml"
  if ! "$tool" generate "$out/specs/$name.yaml" "${flags[@]}" -o "$out" >"$out/log" 2>&1; then
    printf '%s: %s\n' "$name" "$(grep -m1 'error:' "$out/log" || tail -1 "$out/log")" >>"$out/refused.txt"
    return 1
  fi
}

# Prints how many waves a spec has, for `cuts`.
waves() { # pattern transport shape override…
  local pattern=$1 transport=$2 m n k flags=() word
  IFS=x read -r m n k <<<"$3"
  shift 3
  for word in "$@"; do flags+=(-D "$word"); done
  spec x "$pattern" "$transport" "$m" "$n" "$k" |
    "$tool" explain - "${flags[@]}" 2>/dev/null | sed -n 's/^waves  *\([0-9]*\) of.*/\1/p' | head -1
}

# cuts <waves>: prints a cut into two to four groups, or nothing for one wave.
cuts() {
  case $1 in
    '' | 0 | 1) ;;
    2) echo 'schedule.groups=[1, 1]' ;;
    3) echo 'schedule.groups=[1, 1, 1]' ;;
    *) echo "schedule.groups=[1, 1, $(($1 - 3)), 1]" ;;
  esac
}

# grid <prefix of names> <shape> <chunks of rows> <any-m: yes or no>: makes programs of every pattern by every
# transport.
grid() {
  local prefix=$1 shape=$2 chunks=$3 any=$4 pattern short transport routing lanes name given groups
  for pattern in gemm_all_reduce gemm_reduce_scatter gemm_all_to_all all_gather_gemm all_to_all_gemm; do
    for routing in - even splits rows; do
      case $pattern:$routing in
        gemm_all_to_all:- | all_to_all_gemm:- | gemm_all_to_all:splits) continue ;;
        gemm_all_to_all:* | all_to_all_gemm:*) ;;
        *:-) ;;
        *) continue ;;
      esac
      case $pattern in
        gemm_all_reduce) short="ar" ;;
        gemm_reduce_scatter) short=rs ;;
        gemm_all_to_all) short=a2a ;;
        all_gather_gemm) short=ag ;;
        all_to_all_gemm) short=in ;;
      esac
      [ "$routing" = - ] || short=${short}_$routing
      for transport in $transports; do
        given=()
        [ "$routing" = - ] || given+=("routing=$routing")
        lanes=
        case $transport in
          nccl) lanes=1 ;;
          nccl2) lanes=2 ;;
        esac
        [ -z "$lanes" ] || given+=("schedule.lanes=$lanes")
        name=$prefix${short}_$transport
        # `chunks` are the sizes in which rows of A arrive. Groups of tiles have whole waves.
        case $pattern:$transport in
          *:none) groups= ;;
          all_gather_gemm:* | all_to_all_gemm:*) groups="schedule.groups=$chunks" ;;
          *) groups=$(cuts "$(waves "$pattern" "${transport%2}" "$shape" "${given[@]}" 'schedule.tile=[128, 128]')") ;;
        esac
        [ -z "$groups" ] || given+=("schedule.tile=[128, 128]" "$groups")
        make "$name" "$pattern" "${transport%2}" "$shape" "${given[@]}" || true
      done
    done
  done
  [ "$any" = yes ] || return 0
  for name in ar:gemm_all_reduce:nccl ar:gemm_all_reduce:copy_engine ar:gemm_all_reduce:peer \
    rs:gemm_reduce_scatter:nccl rs:gemm_reduce_scatter:peer ag:all_gather_gemm:nccl ag:all_gather_gemm:copy_engine \
    ag:all_gather_gemm:peer ar:gemm_all_reduce:host_copies rs:gemm_reduce_scatter:host_copies \
    ag:all_gather_gemm:host_copies a2a_rows:gemm_all_to_all:host_copies in_rows:all_to_all_gemm:host_copies in_rows:all_to_all_gemm:copy_engine in_rows:all_to_all_gemm:nccl \
    a2a_rows:gemm_all_to_all:nccl a2a_rows:gemm_all_to_all:copy_engine; do
    IFS=: read -r short pattern transport <<<"$name"
    [[ " $transports " == *" $transport "* ]] || continue
    given=(gemm.m.max=4000)
    case $short in *_rows) given+=(routing=rows) ;; esac
    make "${short}_${transport}_any" "$pattern" "$transport" "$shape" "${given[@]}" || true
  done
}

# The planner takes gemm_sm90_small for few rows. Ragged sizes have tiles at the edges of the output.
residual() {
  local shape ranks=1
  for shape in 4096x3072x1024 2050x1160x520 100x8192x2048 67x1160x520; do
    make "residual_sm90_$shape" gemm none "$shape" 'gemm.epilogue=[gelu, residual]' || true
    make "residual_sm80_$shape" gemm none "$shape" 'gemm.epilogue=[gelu, residual]' arch=sm_80 || true
  done
}

fused() {
  local name short pattern given
  for name in ar:gemm_all_reduce rs:gemm_reduce_scatter a2a_even:gemm_all_to_all ag:all_gather_gemm \
    in_even:all_to_all_gemm; do
    short=${name%%:*} pattern=${name#*:} given=()
    [ "$short" != in_even ] || given=(routing=even)
    [ "$short" != a2a_even ] || given=(routing=even registered=true)
    make "${short}_whole" "$pattern" peer 4096x3072x1024 "${given[@]}" || true
    make "${short}_ragged_whole" "$pattern" peer 2050x1160x520 "${given[@]}" || true
    make "${short}_whole_any" "$pattern" peer 4096x2048x512 gemm.m.max=4000 "${given[@]}" || true
    make "small_${short}_whole" "$pattern" peer 512x384x256 "${given[@]}" || true
  done
  make ar_norm_whole gemm_all_reduce peer 4096x2048x512 consumer=residual_rms_norm || true
}

few() {
  local shots
  for shots in one two lines; do
    make "ar_tiles_$shots" gemm_all_reduce peer_tiles 64x8192x2048 "schedule.shots=$shots"
    make "ar_tiles_${shots}_any" gemm_all_reduce peer_tiles 64x2048x512 "schedule.shots=$shots" gemm.m.max=2048
    make "ar_tiles_${shots}_norm_any" gemm_all_reduce peer_tiles 64x2048x512 "schedule.shots=$shots" gemm.m.max=2048 \
      consumer=residual_rms_norm
    make "ar_tiles_${shots}_norm" gemm_all_reduce peer_tiles 16x5120x512 "schedule.shots=$shots" consumer=rms_norm
    make "small_ar_tiles_$shots" gemm_all_reduce peer_tiles 40x512x256 "schedule.shots=$shots"
  done
  # Norms of rows that are longer than a CTA's registers hold, and of the rows of a rank's own share.
  make ar_tiles_long_norm gemm_all_reduce peer_tiles 16x20000x256 schedule.shots=lines consumer=residual_rms_norm
  for shots in one lines; do
    make "rs_tiles_${shots}_norm_any" gemm_reduce_scatter peer_tiles 64x2048x512 "schedule.shots=$shots" \
      gemm.m.max=2048 consumer=residual_rms_norm
  done
  # Of 256 rows shares end where boxes of stores end. Of 70 rows they end inside boxes.
  local pattern name
  for pattern in rs:gemm_reduce_scatter a2a_even:gemm_all_to_all; do
    for shots in one lines; do
      name=${pattern%%:*}_tiles_$shots
      make "$name" "${pattern#*:}" peer_tiles 256x8192x2048 "schedule.shots=$shots"
      make "${name}_any" "${pattern#*:}" peer_tiles 64x2048x512 "schedule.shots=$shots" gemm.m.max=2048
      make "small_$name" "${pattern#*:}" peer_tiles 70x512x256 "schedule.shots=$shots"
    done
  done
  make ag_tiles all_gather_gemm peer_tiles 300x8192x2048
  make ag_tiles_any all_gather_gemm peer_tiles 64x2048x512 gemm.m.max=2048
  make small_ag_tiles all_gather_gemm peer_tiles 40x512x256
  # Scales of blocks that travel with rows of A, also where rows end inside blocks, and blocks inside parts.
  local scaled=(gemm.a=e4m3 gemm.scales=blocks)
  make ag_tiles_scales all_gather_gemm peer_tiles 300x8192x2048 "${scaled[@]}"
  make ag_tiles_scales_any all_gather_gemm peer_tiles 64x2048x1136 "${scaled[@]}" gemm.m.max=2048
  make small_ag_tiles_scales all_gather_gemm peer_tiles 40x512x400 "${scaled[@]}"
  # Outputs of 8 bits.
  for shots in one two lines; do
    make "ar_tiles_${shots}_quantised_any" gemm_all_reduce peer_tiles 64x2048x512 "schedule.shots=$shots" gemm.m.max=2048 \
      gemm.out=e4m3
  done
  make rs_tiles_quantised gemm_reduce_scatter peer_tiles 256x8192x2048 gemm.out=e4m3 "${scaled[@]}"
  make a2a_even_tiles_quantised_any gemm_all_to_all peer_tiles 64x2048x512 gemm.m.max=2048 gemm.out=e4m3
}

# Rows and K end inside blocks.
scales() {
  local name short pattern transport given
  for transport in copy_engine peer; do
    for name in ar:gemm_all_reduce rs:gemm_reduce_scatter a2a_even:gemm_all_to_all ag:all_gather_gemm \
      in_even:all_to_all_gemm; do
      short=${name%%:*} pattern=${name#*:} given=(gemm.a=e4m3 gemm.scales=blocks)
      case $short in *_even) given+=(routing=even) ;; esac
      make "${short}_${transport}_scales" "$pattern" "$transport" 4096x1536x1136 "${given[@]}"
      make "${short}_${transport}_scales_any" "$pattern" "$transport" 4096x1536x1136 gemm.m.max=4096 "${given[@]}"
      case $short in ag | in_even) ;; *) continue ;; esac
      make "${short}_${transport}_turns_scales" "$pattern" "$transport" 3072x2048x3200 'schedule.tile=[64, 256]' \
        "${given[@]}"
    done
  done
}

# Shapes whose rows and columns no tile divides.
tiles() {
  local tile
  for tile in 128x128 128x192 128x256 128x384 144x128 144x256 160x256 168x128 176x256 192x256 256x128; do
    make "ar_peer_$tile" gemm_all_reduce peer 4000x3080x520 "schedule.tile=[${tile/x/, }]"
    make "rs_peer_$tile" gemm_reduce_scatter peer 4000x3080x520 "schedule.tile=[${tile/x/, }]"
  done
}

# Programs with several kernels, for any m.
ranges() {
  local pattern name
  for pattern in ar:gemm_all_reduce rs:gemm_reduce_scatter a2a_even:gemm_all_to_all ag:all_gather_gemm; do
    name=${pattern%%:*}_ranges
    make "${name}_any" "${pattern#*:}" auto 64x2048x512 gemm.m.max=4096 schedule.kernels=4
    make "${name}_wide_any" "${pattern#*:}" auto 64x8192x2048 gemm.m.max=4096 schedule.kernels=4
  done
  make ar_ranges_norm_any gemm_all_reduce peer_tiles 64x2048x512 gemm.m.max=2048 schedule.kernels=4 \
    consumer=residual_rms_norm
  make ar_ranges_peer_any gemm_all_reduce peer 64x8192x2048 gemm.m.max=4096 schedule.kernels=4
  make ag_ranges_tiles_any all_gather_gemm peer_tiles 64x2048x512 gemm.m.max=2048 schedule.kernels=4
}

# Kernels of the user's own: those of tests/own.
own() {
  local kernels pattern short transport given tiled cores scheduled warps block hopper gather
  kernels=$(cd "$(dirname "$0")/../own/kernels" && pwd)
  tiled="{file: $kernels/tiled.cu, function: 'lib::tiled<16>', tile: [16, 16], threads: [16, 16],
    grid: ['ceil_div(n, 16)', 'ceil_div(m, 16)'], arguments: {a: a, b: b, c: out, m: m, n: n, k: k}}"
  cores="{file: $kernels/tensor_cores.cu, function: tensor_cores, tile: [64, 64], threads: [32, 4],
    grid: ['n / 64', 'm / 64'], requires: {m: 64, n: 64, k: 16},
    arguments: {a: a, b: b, c: out, n: n, k: k}}"
  # Kernels with marks.
  scheduled="{file: $kernels/marked_scheduler.cu, function: 'lib::scheduled<16>', tile: [16, 16], threads: [16, 16],
    arguments: {a: a, b: b, c: out, m: m, n: n, k: k}, blocks_per_sm: 4}"
  warps="{file: $kernels/marked_warps.cu, function: warps, tile: [4, 32], threads: 128, signals: 4,
    arguments: {a: a, b: b, c: out, m: m, n: n, k: k}, blocks_per_sm: 8}"
  block="{file: $kernels/marked_block.cu, function: one_each, tile: [16, 32], threads: [32, 8],
    arguments: {a: a, b: b, c: out, m: m, n: n, k: k}}"
  hopper="{file: $kernels/marked_hopper.cu, function: 'lib::hopper<128>', tile: [128, 128], threads: 384,
    shared_bytes: 4 * 256 * 128 + 2 * 2 * 64 * 128 + 1024, signals: 2, requires: {n: 8, k: 8},
    launcher: 'lib::launch_hopper', store_box: [64, 64, 128]}"
  gather="{file: $kernels/marked_gather.cu, function: 'gather<16>', tile: [16, 16], threads: [16, 16],
    arguments: {a: a, b: b, c: out, m: m, n: n, k: k}}"
  for transport in nccl copy_engine none; do
    own_kernel "own_gather_ag_$transport" all_gather_gemm "$transport" 1024x520x40 bf16 "$gather"
  done
  for pattern in ar:gemm_all_reduce rs:gemm_reduce_scatter a2a:gemm_all_to_all; do
    short=${pattern%%:*}
    given=()
    [ "$short" != a2a ] || given=(routing=even)
    for transport in nccl copy_engine none; do
      own_kernel "own_${short}_$transport" "${pattern#*:}" "$transport" 1024x520x40 bf16 "$tiled" "${given[@]}"
    done
    own_kernel "own_loop_$short" "${pattern#*:}" nccl 1024x520x40 bf16 "${tiled%\}}, loop: true, blocks_per_sm: 8}" \
      "${given[@]}"
    own_kernel "own_leave_$short" "${pattern#*:}" nccl 1024x520x40 f32 "{file: $kernels/warps_leave.cu,
      function: warps_leave, tile: [32, 32], threads: 128, grid: ['ceil_div(n, 32)', 'ceil_div(m, 32)'],
      arguments: {a: a, b: b, c: out, m: m, n: n, k: k}}" "${given[@]}"
    own_kernel "own_cores_$short" "${pattern#*:}" nccl 2048x2048x512 f16 "$cores" "${given[@]}"
    for transport in nccl nccl_symmetric copy_engine peer none; do
      own_kernel "own_marked_hopper_${short}_$transport" "${pattern#*:}" "$transport" 4096x2048x512 bf16 "$hopper" \
        "${given[@]}"
    done
    for transport in nccl none; do
      own_kernel "own_marked_scheduler_${short}_$transport" "${pattern#*:}" "$transport" 1024x520x40 bf16 "$scheduled" \
        "${given[@]}"
    done
    own_kernel "own_marked_warps_$short" "${pattern#*:}" nccl 1024x520x40 f16 "$warps" "${given[@]}"
    own_kernel "own_marked_block_$short" "${pattern#*:}" copy_engine 1024x520x40 bf16 "$block" "${given[@]}"
  done
}

# own_kernel <name> <pattern> <transport> <m>x<n>x<k> <type> <kernel> [override …]: generates a program.
own_kernel() {
  local name=$1 pattern=$2 transport=$3 type=$5 kernel=$6 m n k flags=() word
  IFS=x read -r m n k <<<"$4"
  shift 6
  for word in "$@"; do flags+=(-D "$word"); done
  { spec "$name" "$pattern" "$transport" "$m" "$n" "$k" | sed "s/a: bf16}}/a: $type},/"; echo " kernel: $kernel}"; } \
    >"$out/specs/$name.yaml"
  "$tool" generate "$out/specs/$name.yaml" "${flags[@]}" -o "$out"
}

# Programs that beside.cpp runs on two streams. The GEMMs of big_… take all SMs and wait for other ranks inside.
pairs() {
  make big_ar_peer gemm_all_reduce peer 8192x8192x4096 || true
  for transport in nccl copy_engine none peer; do
    make "mate_rs_$transport" gemm_reduce_scatter "$transport" 4096x3072x1024 || true
  done
  make big_ag_peer all_gather_gemm peer 8192x8192x4096 || true
  make big_ar_nccl gemm_all_reduce nccl 8192x8192x4096 || true
  make mate_ar_peer_any gemm_all_reduce peer 4096x3072x1024 gemm.m.max=4096 || true
}

neighbours() {
  for pattern in ar:gemm_all_reduce rs:gemm_reduce_scatter ag:all_gather_gemm \
    a2a_even:gemm_all_to_all in_even:all_to_all_gemm; do
    for transport in auto nccl host_copies copy_engine peer none; do
      make "${pattern%:*}_${transport}_nb" "${pattern#*:}" "$transport" 4096x3072x1024 neighbours=true || true
    done
  done
  # The GEMM is launched for each group of rows of A: rows are routed, m is any, or there are more groups than one
  # launch takes.
  for transport in nccl host_copies copy_engine; do
    make "in_rows_${transport}_nb" all_to_all_gemm "$transport" 4096x3072x1024 neighbours=true routing=rows || true
    make "ag_${transport}_any_nb" all_gather_gemm "$transport" 4096x3072x1024 neighbours=true gemm.m.max=4000 || true
    make "ag_${transport}_groups_nb" all_gather_gemm "$transport" 4096x3072x1024 neighbours=true \
      'schedule.tile=[128, 128]' 'schedule.groups=[1, 1, 2]' || true
  done
  make big_ar_peer_nb gemm_all_reduce peer 8192x8192x4096 neighbours=true || true
}

experts() {
  local transport shape=1000x136x200 given
  given=(gemm.m.max=1000 "gemm.experts=$((8 * ranks))" gemm.top=4)
  for transport in copy_engine nccl peer none; do
    make "experts_bilinear_$transport" dispatch_grouped_gemm "$transport" $shape "${given[@]}" 'gemm.epilogue=[bilinear]'
  done
  for transport in copy_engine peer; do
    make "experts_swiglu_$transport" dispatch_grouped_gemm "$transport" $shape "${given[@]}" 'gemm.epilogue=[swiglu]'
  done
  for transport in copy_engine nccl peer; do
    make "experts_bounded_$transport" dispatch_grouped_gemm "$transport" $shape "${given[@]}" \
      'gemm.epilogue=[bilinear]' max_rows=1200
  done
}

# Experts whose consumers share tiles. The host multiplies as much, so a few routings take long.
experts_long() {
  local transport given
  given=(gemm.m.max=1000 "gemm.experts=$((8 * ranks))" gemm.top=4)
  for transport in copy_engine peer; do
    make "experts_bilinear_long_$transport" dispatch_grouped_gemm "$transport" 1000x136x4096 "${given[@]}" \
      'gemm.epilogue=[bilinear]'
  done
}

sums() {
  local transport given
  given=(gemm.m.max=1000 "gemm.experts=$((8 * ranks))" gemm.top=4)
  for transport in ${TRANSPORTS:-copy_engine nccl none peer}; do
    make "sums_$transport" grouped_gemm_combine "$transport" 1000x136x200 "${given[@]}"
  done
  make sums_residual grouped_gemm_combine peer 1000x136x64 "${given[@]}" 'gemm.epilogue=[residual]'
  make sums_wide grouped_gemm_combine peer 1000x1160x64 "${given[@]}"
  make sums_many grouped_gemm_combine peer 6000x264x64 gemm.m.max=6000 "gemm.experts=$((8 * ranks))" gemm.top=4
  make sums_bounded grouped_gemm_combine auto 1000x136x64 "${given[@]}" max_rows=1200
  make sums_top_12 grouped_gemm_combine peer 1000x264x64 gemm.m.max=1000 "gemm.experts=$((8 * ranks))" gemm.top=12
}

# layer NAME EXPERTS TOP OUTER INNER TOKENS TRANSPORT: both halves of a layer, and the layer as one operation, for TOKENS
# tokens of each rank, which go to experts by TRANSPORT.
layer() {
  local given=("gemm.m.max=$(($6 * ranks))" "gemm.experts=$2" "gemm.top=$3")
  make "layer_$1_up" dispatch_grouped_gemm "$7" "1x$5x$4" "${given[@]}" 'gemm.epilogue=[swiglu]'
  make "layer_$1_down" grouped_gemm_combine peer "1x$4x$5" "${given[@]}"
  make "layer_$1_whole" moe "$7" "1x$5x$4" "${given[@]}" 'gemm.epilogue=[swiglu]'
}

layers() {
  layer qwen3_30b 128 8 2048 768 8192 auto
  layer qwen3_30b_64_tokens 128 8 2048 768 64 peer
  layer qwen3_30b_64_tokens_copies 128 8 2048 768 64 copy_engine
  layer gpt_oss_120b 128 4 2880 2880 8192 auto
  layer mixtral_8x7b 8 2 4096 14336 8192 auto
}

mkdir -p "$out/specs"
rm -f "$out"/*.cu "$out"/*.h "$out"/*.plan.json "$out"/specs/*.yaml
: >"$out/refused.txt"
for set in "$@"; do
  case $set in
    main) grid '' 4096x1536x512 '[1, 1, 2]' yes ;;
    small) grid small_ 2048x512x256 '[1, 1]' no ;;
    fused) fused ;;
    few) few ;;
    scales) scales ;;
    tiles) tiles ;;
    ranges) ranges ;;
    pairs) pairs ;;
    neighbours) neighbours ;;
    residual) residual ;;
    own) own ;;
    experts) experts ;;
    experts_long) experts_long ;;
    sums) sums ;;
    layers) layers ;;
    *)
      echo "no set '$set'; there are main, small, fused, few, scales, tiles, ranges, own, pairs, neighbours, residual, experts, experts_long, sums and layers" >&2
      exit 2
      ;;
  esac
done
rm -f "$out/log"
echo "$(find "$out" -name '*.cu' | wc -l) programs, $(wc -l <"$out/refused.txt") refused"
