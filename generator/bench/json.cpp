// Writes a summary of every sample, with everything that is needed to measure it again.
#include "llvm/Support/JSON.h"
#include "generator/bench/report.h"
#include "llvm/Support/raw_ostream.h"
#include "tilepost/version.h"

namespace tilepost {
namespace {

using llvm::json::OStream;

void write_summary(OStream& json, llvm::StringRef key, const std::vector<double>& values) {
  const Summary summary = summarise(values);
  json.attributeObject(key, [&] {
    json.attribute("n", summary.n);
    json.attribute("median", summary.median);
    json.attribute("p10", summary.p10);
    json.attribute("p25", summary.p25);
    json.attribute("p75", summary.p75);
    json.attribute("p90", summary.p90);
    json.attribute("min", summary.min);
    json.attribute("max", summary.max);
  });
}

void write_problem(OStream& json, const HarnessProgram& program, const Plan& plan) {
  json.attribute("name", program.name);
  json.attribute("spec", program.spec_name);
  json.attribute("varied", program.varied);
  json.attribute("pattern", name_of(plan.pattern));
  json.attribute("routing", name_of(plan.routing));
  json.attribute("ranks", plan.ranks);
  json.attribute("m", rows_of_runs(plan));
  json.attribute("n", plan.map.n);
  json.attribute("k", plan.k);
  json.attribute("input", name_of(plan.input));
  json.attribute("output", name_of(plan.output));
  json.attribute("operands", name_of(plan.operands));
  json.attribute("accumulate", name_of(plan.accumulate));
  json.attribute("epilogue", plan.epilogue);
}

void write_plan(OStream& json, const Plan& plan) {
  const tilepost_kernel_t& kernel = plan.kernel;
  json.attributeObject("plan", [&] {
    json.attribute("arch", name_of(plan.arch));
    json.attribute("kernel", kernel.name);
    json.attributeArray("tile", [&] {
      for (const int extent : {plan.map.tile_m, plan.map.tile_n, kernel.tile_k}) json.value(extent);
    });
    json.attribute("stages", plan.source.stages);
    json.attribute("cluster", kernel.cluster);
    json.attributeObject("tunables", [&] {
      for (const auto& [name, value] : plan.source.tunables) json.attribute(name, value);
    });
    json.attribute("layout", name_of(plan.map.layout));
    json.attribute("transport", name_of(plan.planned_transport));
    if (plan.access == TILEPOST_ACCESS_WRITE) json.attribute("sum", name_of(plan.sum));
    if (plan.access == TILEPOST_ACCESS_TILES) json.attribute("shots", name_of(plan.shots));
    json.attribute("sms", plan.sms);
    json.attribute("gemm_ctas", plan.gemm_ctas);
    json.attribute("comm_ctas", plan.comm_ctas);
    json.attribute("comm_lanes", plan.comm_lanes);
    json.attribute("band", plan.map.band);
    json.attribute("waves", plan.waves);
    json.attributeArray("group_waves", [&] {
      for (const int waves : plan.group_waves) json.value(waves);
    });
    json.attribute("predicted_gemm_us", plan.prediction.gemm);
    json.attribute("predicted_us", plan.prediction.total);
    json.attribute("predicted_sequence_us", plan.prediction.sequence);
  });
}

void write_mode(OStream& json, const ModeSamples& samples) {
  json.attribute("mode", samples.mode);
  if (samples.rows > 0) json.attribute("rows", samples.rows);
  json.attributeObject("cublaslt", [&] {
    json.attribute("candidates", samples.candidates);
    json.attribute("fastest", samples.fastest);
    json.attribute("kernels", samples.cublas_kernels);
    json.attribute("sms", samples.cublas_sms);
    json.attribute("epilogue", samples.cublas_operations);
  });
  json.attributeObject("us", [&] {
    for (const auto& [variant, values] : samples.us) write_summary(json, variant, values);
  });
  json.attributeObject("ratios", [&] {
    for (const RatioKind& kind : kRatioKinds)
      if (const auto ratios = ratios_of(samples, kind); !ratios.empty())
        write_summary(json, kind.name, ratios);
  });
  write_summary(json, "sm_mhz", samples.mhz);
  write_summary(json, "watts", samples.watts);
}

void write_samples(OStream& json, const ProgramSamples& samples) {
  json.attributeArray("checks", [&] {
    for (const CheckRecord& check : samples.checks)
      json.object([&] {
        json.attribute("variant", check.variant);
        json.attribute("against", check.against);
        if (!check.out.empty()) json.attribute("out", check.out);
        json.attribute("elements", check.elements);
        json.attribute("wrong", check.wrong);
      });
  });
  json.attribute("wrong", samples.wrong());
  json.attribute("measured", samples.ok());
  json.attribute("failure", samples.failure);
  json.attributeArray("notes", [&] {
    for (const std::string& note : samples.notes) json.value(note);
  });
  json.attributeArray("modes", [&] {
    // A wrong result gets no times.
    if (samples.ok())
      for (const ModeSamples& mode : samples.modes) json.object([&] { write_mode(json, mode); });
  });
}

}  // namespace

std::string bench_json(const BenchContext& context, const std::vector<HarnessProgram>& programs,
                       const BenchLog& log) {
  std::string text;
  llvm::raw_string_ostream out(text);
  OStream json(out, 2);
  json.object([&] {
    json.attribute("tilepost", TILEPOST_VERSION_STRING);
    json.attribute("revision", context.revision);
    json.attribute("date", context.date);
    json.attribute("rounds", context.options.rounds);
    json.attribute("seed", static_cast<int64_t>(context.options.seed));
    json.attribute("lent_output", context.options.lent_output);
    json.attribute("registered", context.options.registered);
    json.attribute("load", context.options.load);
    json.attribute("torch", log.torch());
    json.attribute("machine", llvm::json::Object(log.machine()));
    json.attributeArray("points", [&] {
      for (const HarnessProgram& program : programs)
        json.object([&] {
          const Plan& plan = program.plans.front();
          write_problem(json, program, plan);
          write_plan(json, plan);
          write_samples(json, log.of(program.name));
        });
    });
  });
  out << "\n";
  return text;
}

}  // namespace tilepost
