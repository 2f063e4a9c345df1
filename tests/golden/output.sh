#!/usr/bin/env bash
# Shared by check.sh and accept.sh: what is compared of a case.

# Cases whose generated source is compared whole: a kernel of every kind. Of the others the kernel's text is left out. It
# is the template of one of these with the tunables that the plan has, and tests/kernels compiles those of most of them.
whole_cases='host groups_sm80 panel_sm90 peer_all_reduce_sm90 norm_tiles_sm90 own_kernel_sm80 marked_kernel_sm90'

# write_output <tool> <case> <folder>: what is generated, and what explain says.
write_output() {
  local spec
  spec=$(dirname "${BASH_SOURCE[0]}")/$2/spec.yaml
  "$1" generate "$spec" -o "$3" || return 1
  "$1" explain "$spec" >"$3/explain.txt" || return 1
  case " $whole_cases " in *" $2 "*) return 0 ;; esac
  leave_kernels_out "$3"/*.c*
}

# leave_kernels_out <source>…: the lines between the two headings, which stay.
leave_kernels_out() {
  local source
  for source in "$@"; do
    grep -q '^// ---- The kernel' "$source" && grep -q '^// ---- The plan' "$source" ||
      { echo "$source has no kernel and plan under headings"; return 1; }
    sed -i '/^\/\/ ---- The kernel/,/^\/\/ ---- The plan/{ /^\/\/ ---- /!d }' "$source"
  done
}
