// The recorded log and the programs it is about.
#pragma once

#include <fstream>
#include <string>

#include "generator/bench/report.h"
#include "tests/catch.h"

namespace bench_test {

using namespace tilepost;

inline BenchLog read_log() {
  std::ifstream file(TILEPOST_BENCH_LOG);
  BenchLog log;
  std::string program;
  for (std::string line; std::getline(file, line);) log.take(line, program);
  return log;
}

inline HarnessProgram make_program(const std::string& name) {
  Plan plan;
  plan.name = name;
  plan.arch = Arch::sm_90a;
  plan.map.m = 4096, plan.map.n = 8192, plan.k = 2048;
  plan.link_bytes_per_us = 3.67e5;
  plan.sms = 132, plan.gemm_ctas = 128;
  plan.kernel.name = "gemm_sm90";
  plan.map.tile_m = 128, plan.map.tile_n = 256, plan.kernel.tile_k = 64;
  plan.source.stages = 4, plan.source.across = 2;
  plan.kernel.cluster = 8;
  plan.ranks = 4;
  plan.comm_ctas = 32, plan.comm_lanes = 2;
  plan.set_cuts({1, 3, 32});
  plan.prediction.total = 90.5;
  return {name, name + ".yaml", "", {plan}};
}

}  // namespace bench_test
