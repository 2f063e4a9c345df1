#include "generator/profile/records.h"

#include "llvm/Support/JSON.h"

namespace tilepost {
namespace {

using llvm::json::Object;

Measurement measurement_of(const Object& record) {
  Measurement result;
  for (const auto& [key, value] : record) {
    if (const auto text = value.getAsString()) result.texts[key.str()] = text->str();
    if (const auto number = value.getAsNumber()) result.numbers[key.str()] = *number;
  }
  return result;
}

}  // namespace

void ProfileLog::take(llvm::StringRef line) {
  if (!line.starts_with("{")) return;
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(line);
  if (!value) {
    llvm::consumeError(value.takeError());
    return;
  }
  const Object* const record = value->getAsObject();
  if (record == nullptr) return;
  const llvm::StringRef kind = record->getString("record").value_or("");
  const std::string step = record->getString("step").value_or("").str();
  if (kind == "machine") measurements_.machine = measurement_of(*record);
  if (kind == "time") open_.push_back(measurement_of(*record));
  if (kind == "begin") {
    if (step != step_) open_.clear();
    step_ = step;
    seconds_ = record->getNumber("seconds").value_or(0);
  }
  if (kind == "failed") {
    const std::string text = record->getString("text").value_or("").str();
    (step.empty() ? failure_ : measurements_.failed[step]) = text;
    open_.clear();
    step_.clear();
  }
  if (kind != "end") return;
  ended_.insert(step);
  measurements_.failed.erase(step);
  for (Measurement& time : open_) measurements_.times.push_back(std::move(time));
  open_.clear();
  step_.clear();
}

}  // namespace tilepost
