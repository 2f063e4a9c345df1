#include "generator/bench/records.h"

#include <algorithm>

namespace tilepost {
namespace {

using llvm::json::Object;

std::string text(const Object& record, llvm::StringRef key) {
  return record.getString(key).value_or("").str();
}

int64_t number(const Object& record, llvm::StringRef key) {
  return record.getInteger(key).value_or(0);
}

ModeSamples& mode_of(ProgramSamples& samples, const std::string& mode) {
  for (ModeSamples& each : samples.modes)
    if (each.mode == mode) return each;
  samples.modes.emplace_back().mode = mode;
  return samples.modes.back();
}

void take_sample(ModeSamples& samples, const Object& record) {
  if (const Object* us = record.getObject("us"))
    for (const auto& [variant, value] : *us)
      samples.us[variant.str()].push_back(value.getAsNumber().value_or(0));
  const auto add_known = [&](llvm::StringRef key, std::vector<double>& values) {
    if (const double value = record.getNumber(key).value_or(0); value > 0) values.push_back(value);
  };
  add_known("mhz", samples.mhz);
  add_known("watts", samples.watts);
}

void take_reference(ModeSamples& samples, const Object& record) {
  samples.candidates = static_cast<int>(number(record, "candidates"));
  samples.fastest = static_cast<int>(number(record, "fastest"));
  samples.cublas_kernels = text(record, "kernels");
  samples.cublas_sms = static_cast<int>(number(record, "sms"));
  samples.cublas_operations = static_cast<int>(number(record, "operations"));
  samples.rows = number(record, "rows");
}

}  // namespace

int64_t ProgramSamples::wrong() const {
  int64_t worst = 0;
  for (const CheckRecord& check : checks) worst = std::max(worst, check.wrong);
  return worst;
}

const ModeSamples* ProgramSamples::mode(llvm::StringRef name) const {
  for (const ModeSamples& each : modes)
    if (each.mode == name) return &each;
  return nullptr;
}

bool ProgramSamples::ok() const {
  return ended && failure.empty() && wrong() == 0 && !modes.empty();
}

BenchLog::Event BenchLog::take(llvm::StringRef line, std::string& program) {
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(line);
  if (!value) {
    llvm::consumeError(value.takeError());
    return Event::none;
  }
  const Object* record = value->getAsObject();
  if (record == nullptr) return Event::none;
  const std::string kind = text(*record, "record");
  if (kind == "machine") {
    machine_ = *record;
    machine_.erase("record");
    return Event::machine;
  }
  program = text(*record, "program");
  if (kind == "failed" && program.empty()) {
    failure_ = text(*record, "text");
    return Event::none;
  }
  if (program.empty()) return Event::none;
  ProgramSamples& samples = programs_[program];
  samples.program = program;
  if (kind == "begin") return Event::begin;
  if (kind == "check")
    samples.checks.push_back({text(*record, "variant"), text(*record, "against"),
                              number(*record, "elements"), number(*record, "wrong"),
                              text(*record, "out")});
  if (kind == "note") samples.notes.push_back(text(*record, "text"));
  if (kind == "failed") samples.failure = text(*record, "text");
  if (kind == "reference") take_reference(mode_of(samples, text(*record, "mode")), *record);
  if (kind == "sample") {
    take_sample(mode_of(samples, text(*record, "mode")), *record);
    return Event::sample;
  }
  samples.ended = samples.ended || kind == "end";
  return kind == "end" ? Event::end : Event::none;
}

void BenchLog::add_mode(const std::string& program, ModeSamples samples) {
  programs_[program].modes.push_back(std::move(samples));
}

void BenchLog::add_note(const std::string& program, const std::string& text) {
  std::vector<std::string>& notes = programs_[program].notes;
  if (std::find(notes.begin(), notes.end(), text) == notes.end()) notes.push_back(text);
}

void BenchLog::set_torch(const std::string& version, const std::string& nccl) {
  torch_ = version + ", NCCL " + nccl;
}

const ProgramSamples& BenchLog::of(const std::string& program) const {
  static const ProgramSamples none;
  const auto found = programs_.find(program);
  return found == programs_.end() ? none : found->second;
}

}  // namespace tilepost
