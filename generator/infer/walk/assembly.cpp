#include "generator/infer/walk/assembly.h"

#include <map>
#include <set>

#include "generator/infer/state/unknowns.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace tilepost::inference {

using llvm::StringRef;

namespace {

struct Instruction {
  StringRef predicate;  // "p" of "@p st.global…"; empty if there is none
  bool negated = false;
  StringRef name;                   // "st.global.v4.f32"
  std::vector<StringRef> operands;  // as written
};

// Instructions that do not store into global memory, by the first words of their names.
constexpr StringRef kHarmless[] = {".reg",         ".pred",
                                   ".shared",      "mov",
                                   "cvt",          "cvta",
                                   "add",          "addc",
                                   "sub",          "subc",
                                   "mul",          "mul24",
                                   "mad",          "madc",
                                   "fma",          "div",
                                   "rem",          "abs",
                                   "neg",          "min",
                                   "max",          "and",
                                   "or",           "xor",
                                   "not",          "cnot",
                                   "shl",          "shr",
                                   "shf",          "bfe",
                                   "bfi",          "bfind",
                                   "brev",         "clz",
                                   "popc",         "fns",
                                   "lop3",         "prmt",
                                   "sad",          "dp2a",
                                   "dp4a",         "setp",
                                   "set",          "selp",
                                   "slct",         "rcp",
                                   "sqrt",         "rsqrt",
                                   "sin",          "cos",
                                   "lg2",          "ex2",
                                   "tanh",         "testp",
                                   "copysign",     "bar",
                                   "barrier.sync", "barrier.arrive",
                                   "fence",        "membar",
                                   "mbarrier",     "ldmatrix",
                                   "stmatrix",     "movmatrix",
                                   "mma",          "wgmma",
                                   "wmma.load",    "wmma.mma",
                                   "shfl",         "vote",
                                   "match",        "redux",
                                   "activemask",   "elect",
                                   "ld",           "ldu",
                                   "prefetch",     "prefetchu",
                                   "createpolicy", "isspacep",
                                   "nanosleep",    "bra",
                                   "pmevent",      "cp.async",
                                   "setmaxnreg",   "griddepcontrol.wait",
                                   "st.shared",    "atom.shared",
                                   "red.shared"};

bool begins_with_word(StringRef name, StringRef word) {
  return name.starts_with(word) && (name.size() == word.size() || name[word.size()] == '.');
}

// The text with a blank in place of each comment. A comment that does not end stays, and is refused
// later.
std::string without_comments(StringRef text) {
  std::string plain;
  while (!text.empty()) {
    const size_t end = text.starts_with("//")   ? text.find('\n')
                       : text.starts_with("/*") ? text.find("*/", 2)
                                                : 0;
    if (end == 0 || (end == StringRef::npos && text.starts_with("/*"))) {
      plain += text.front();
      text = text.drop_front();
    } else {
      plain += ' ';
      text = end == StringRef::npos ? "" : text.drop_front(text[end] == '*' ? end + 2 : end);
    }
  }
  return plain;
}

// The instructions of a text without comments. Labels are put into `labels`, braces left out.
std::vector<Instruction> read_instructions(StringRef text, std::set<StringRef>& labels) {
  std::vector<Instruction> list;
  llvm::SmallVector<StringRef> parts;
  text.split(parts, ';');
  for (StringRef part : parts) {
    for (;;) {
      part = part.ltrim(" \t\n\r{}");
      const size_t label = part.find_first_of(" \t\n\r:");
      if (label == StringRef::npos || part[label] != ':' || part.substr(label).starts_with("::"))
        break;
      labels.insert(part.take_front(label));
      part = part.drop_front(label + 1);
    }
    part = part.rtrim(" \t\n\r{}");
    if (part.empty()) continue;
    Instruction one;
    if (part.consume_front("@")) {
      one.negated = part.consume_front("!");
      one.predicate = part.take_until([](char c) { return llvm::isSpace(c); });
      part = part.drop_front(one.predicate.size()).ltrim();
    }
    one.name = part.take_until([](char c) { return llvm::isSpace(c) || c == '{' || c == '['; });
    StringRef rest = part.drop_front(one.name.size());
    llvm::SmallVector<StringRef> operands;
    rest.split(operands, ',');
    for (const StringRef operand : operands) one.operands.push_back(operand.trim(" \t\n\r{}"));
    list.push_back(one);
  }
  return list;
}

// How many bytes an st or ld of that name accesses, or 0 if the name has no size.
int64_t accessed_bytes(StringRef name) {
  llvm::SmallVector<StringRef> parts;
  name.split(parts, '.');
  int64_t count = 1;
  for (const StringRef part : parts) {
    if (part == "v2") count = 2;
    if (part == "v4") count = 4;
    if (part == "v8") count = 8;
  }
  unsigned bits = 0;
  if (parts.back().size() < 2 || parts.back().drop_front().getAsInteger(10, bits)) return 0;
  return count * bits / 8;
}

// Returns the number n of an operand "%n", "[%n]", "[%n + 16]" or "[%n - 0x10]", and -1 for any
// other operand. Sets `bytes` to the offset.
int operand_number(StringRef operand, int64_t& bytes) {
  bytes = 0;
  operand = operand.trim("[] \t");
  const StringRef base = operand.take_until([](char c) { return c == '+' || c == '-'; });
  StringRef offset = operand.drop_front(base.size());
  unsigned number = 0;
  StringRef digits = base.trim();
  if (!digits.consume_front("%") || digits.getAsInteger(10, number)) return -1;
  offset.consume_front("+");
  offset = offset.ltrim();
  const bool back = offset.consume_front("-");
  if (offset.trim().empty() ? back : offset.trim().getAsInteger(0, bytes)) return -1;
  if (back) bytes = -bytes;
  return static_cast<int>(std::min(number, 1000u));
}

// The numbers of all operands %n in the text.
std::vector<size_t> mentioned(StringRef text) {
  std::vector<size_t> numbers;
  while (!text.empty()) {
    text = text.drop_until([](char c) { return c == '%'; }).drop_front(text.contains('%'));
    size_t number = 0;
    if (!text.take_while(llvm::isDigit).getAsInteger(10, number)) numbers.push_back(number);
  }
  return numbers;
}

// Why a kernel whose blocks are reordered cannot have an instruction; empty if it can.
std::string refusal_of(StringRef name) {
  const bool bulk = name.contains("bulk");
  if (name.starts_with("cp.async") && name.contains("global.shared")) {
    return "a bulk store: where it goes is in a tensor map or in memory, and cannot be seen";
  }
  if (name.starts_with("cp.reduce")) return "a store that adds: several blocks add to one tile";
  if (bulk && name.contains("multicast")) return "blocks of a cluster share what they load";
  if (begins_with_word(name, "exit") || begins_with_word(name, "ret")) {
    return "assembly ends the thread: a signal behind it would never be sent";
  }
  if (begins_with_word(name, "trap") || begins_with_word(name, "brkpt")) {
    return "assembly ends the kernel: a signal behind it would never be sent";
  }
  const bool reduces = begins_with_word(name, "red") || begins_with_word(name, "atom");
  const bool in_shared = name.contains(".shared") || name.contains("::cta");
  if (reduces && !in_shared)
    return "blocks wait for each other or add to one tile here (" + name.str() + ")";
  const bool own_barrier = name.starts_with("mbarrier") && !name.contains("shared::cluster");
  if (name.contains("cluster") && !bulk && !name.starts_with("fence") && !own_barrier) {
    return "blocks of a cluster work together here (" + name.str() + ")";
  }
  return "";
}

bool is_store(StringRef name) {
  return begins_with_word(name, "st") && !name.starts_with("st.shared");
}

// Whether the instruction waits for other threads.
bool waits(StringRef name) {
  return name.contains(".sync") || begins_with_word(name, "bar") || name.starts_with("barrier.");
}

bool is_harmless(StringRef name) {
  if (begins_with_word(name, "wmma.store")) return name.contains(".shared.");
  return std::any_of(std::begin(kHarmless), std::end(kHarmless),
                     [&](StringRef word) { return begins_with_word(name, word); });
}

}  // namespace

// What is known about a statement's operands %0, %1 … while its instructions are run.
struct InlineAssembly::Assembly {
  const clang::GCCAsmStmt* statement = nullptr;
  std::vector<Value> operands;
  std::map<StringRef, NodeId> predicates;
  std::set<StringRef> declared;  // names of predicates
  bool hidden = false;           // whether a predicate hides another of the same name

  // Whether an operand whose form is not recognised uses the output's address.
  bool hides_output(StringRef operand) const {
    return llvm::any_of(mentioned(operand), [&](size_t number) {
      return number < operands.size() && operands[number].root == Root::output;
    });
  }

  Value* find(StringRef operand, int64_t& bytes) {
    const int number = operand_number(operand, bytes);
    const bool known = number >= 0 && number < static_cast<int>(operands.size());
    return known ? &operands[number] : nullptr;
  }
};

// Notes asynchronous copies that are under way, and instructions that cannot run twice in one
// block.
void InlineAssembly::note_one_shot(Assembly& assembly, StringRef name, StringRef operand) {
  const Where where = assembly.statement->getAsmLoc();
  if (name.starts_with("setmaxnreg"))
    log_.run_once(where, "registers are given back or taken here");
  if (name.starts_with("mbarrier.init")) log_.run_once(where, "a barrier is initialised here");
  if (name.starts_with("bar.arrive") || name.starts_with("barrier.arrive"))
    log_.run_once(where, "threads come to a barrier here and do not wait at it");
  if (name.starts_with("cp.async.ca") || name.starts_with("cp.async.cg")) log_.begin_copies(where);
  if (name.starts_with("cp.async.wait_all")) log_.end_copies();
  if (name.starts_with("cp.async.wait_group")) {
    int64_t bytes = 0;
    const Value* left = assembly.find(operand, bytes);
    if (operand == "0" || (left && nodes_.is(left->node, 0))) log_.end_copies();
  }
}

// Runs an instruction that does not store into global memory. The operands that it writes become
// unknown.
void InlineAssembly::exec_harmless(Assembly& assembly, StringRef name,
                                   const std::vector<StringRef>& operands, bool predicated) {
  const Where where = assembly.statement->getAsmLoc();
  if (!is_harmless(name)) {
    return course_.complain(where,
                            "the instruction '" + name.str() + "' is not known here, and may store",
                            where, "write it in C++, or mark the kernel");
  }
  int64_t bytes = 0;
  for (const StringRef operand : operands) {
    const Value* value = assembly.find(operand, bytes);
    if (!value && assembly.hides_output(operand)) return output_.read_somewhere(where);
    if (value && operand.starts_with("[") && storage_.follows_null(*value, "reads through", where))
      return;
    if (!value || value->root != Root::output) continue;
    if (name.starts_with("ld.global.nc")) return output_.refuse_stale(where);
    if (begins_with_word(name, "ld") && accessed_bytes(name) > 0) {
      output_.read(storage_.moved(*value, nodes_.constant(bytes)), accessed_bytes(name), where);
    } else if (begins_with_word(name, "ld") || begins_with_word(name, "cp.async")) {
      return output_.read_somewhere(where);
    } else if (!begins_with_word(name, "prefetch")) {
      return course_.complain(
          where, "assembly computes with the output's address, and where that goes cannot be seen",
          where, "give st.global the address itself");
    }
  }
  if (operands.empty()) return;
  NodeId truth = 0;
  bool tests = false;
  if (begins_with_word(name, "setp") && operands.size() == 3 && operands[2] == "0" && !predicated) {
    const Value* tested = assembly.find(operands[1], bytes);
    const bool equal = name.contains(".eq.");
    tests = tested && tested->root == Root::number && (equal || name.contains(".ne."));
    if (tests) truth = nodes_.condition(tested->node);
    if (tests && equal) truth = nodes_.negation(truth);
  }
  llvm::SmallVector<StringRef> written;
  operands[0].split(written, '|');  // "%0|p" and "p|q"
  for (const StringRef one : written) assembly.predicates.erase(one.trim());
  if (name == ".reg" && operands[0].starts_with(".pred"))
    for (StringRef one : operands) {
      one.consume_front(".pred");
      assembly.hidden |= !assembly.declared.insert(one.trim()).second;
    }
  if (tests) assembly.predicates[operands[0]] = truth;
  for (const StringRef operand : operands) {
    Value* value = assembly.find(operand, bytes);
    const bool output =
        value && value < &assembly.operands[0] + assembly.statement->getNumOutputs();
    if (value && (output || operand.data() == operands[0].data()) && !operand.starts_with("[")) {
      *value = {Root::number, 0, unknown(nodes_, "a value from inline assembly", where)};
    }
  }
}

void InlineAssembly::exec_store(Assembly& assembly, StringRef name, StringRef target,
                                NodeId guard) {
  const Where where = assembly.statement->getAsmLoc();
  int64_t bytes = 0;
  const Value* base = assembly.find(target, bytes);
  const int64_t width = accessed_bytes(name);
  if (!base || width == 0) {
    return course_.complain(where, "where the assembly '" + name.str() + "' stores cannot be seen",
                            where, "give it the address as an operand of its own");
  }
  guard = facts_.assume(guard);
  if (nodes_.is(guard, 0)) return;
  const Value to = storage_.moved(*base, nodes_.constant(bytes));
  const size_t facts = facts_.size();
  if (!nodes_.is(guard, 1)) facts_.push(guard);
  if (to.root == Root::output) {
    output_.store(to, width, where);
  } else {
    forks_.for_each_place(to, [&](Value one) {
      if (one.root == Root::object)
        storage_.forget(one);
      else
        storage_.store(one, {}, parsed_.ast.CharTy, where);
    });
  }
  facts_.pop(facts);
}

// Notes where an instruction waits for other threads. `guard` is its predicate.
void InlineAssembly::meet_under(Assembly& assembly, StringRef name,
                                const std::vector<StringRef>& operands, NodeId guard) {
  int64_t bytes = 0;
  Value last;
  if (!operands.empty()) {
    if (const Value* value = assembly.find(operands.back(), bytes)) last = *value;
    if (int64_t mask = 0; !operands.back().getAsInteger(0, mask)) last.node = nodes_.constant(mask);
  }
  if (last.root != Root::number) last = {};
  const size_t facts = facts_.size();
  if (!nodes_.is(guard, 1)) facts_.push(guard);
  meetings_.note(assembly.statement->getAsmLoc(), name, operands, last);
  facts_.pop(facts);
}

void InlineAssembly::exec_instructions(Assembly& assembly, StringRef text) {
  const Where where = assembly.statement->getAsmLoc();
  std::set<StringRef> labels;
  const std::vector<Instruction> instructions = read_instructions(text, labels);
  const bool jumps =
      std::any_of(instructions.begin(), instructions.end(),
                  [](const Instruction& one) { return begins_with_word(one.name, "bra"); });
  for (const Instruction& one : instructions) {
    const StringRef first = one.operands.empty() ? StringRef() : one.operands[0];
    const std::string refused = refusal_of(one.name);
    if (!refused.empty()) {
      return course_.complain(where, refused, where,
                              "mark the kernel instead: tilepost::tile, out_base and tile_done");
    }
    if (begins_with_word(one.name, "bra") && !labels.contains(first))
      return course_.complain(where, "assembly jumps out of itself here");
    if (jumps && waits(one.name))
      return course_.complain(where,
                              "assembly jumps around '" + one.name.str() +
                                  "', and who of the others that wait comes to it cannot be seen",
                              where, "put an if around the assembly instead");
    note_one_shot(assembly, one.name, first);
    NodeId guard = nodes_.constant(1);
    if (!one.predicate.empty()) {
      const auto found = assembly.predicates.find(one.predicate);
      guard = found != assembly.predicates.end() && !assembly.hidden
                  ? found->second
                  : nodes_.condition(unknown(nodes_, "a predicate of the assembly", where));
      if (one.negated) guard = nodes_.negation(guard);
      if (nodes_.is(guard, 0)) continue;
    }
    meet_under(assembly, one.name, one.operands, guard);
    if (!is_store(one.name)) {
      exec_harmless(assembly, one.name, one.operands, !one.predicate.empty());
    } else if (jumps) {
      return course_.complain(
          where, "assembly jumps around a store, and whether it is reached cannot be seen", where,
          "give the store a predicate, or an if around it");
    } else {
      exec_store(assembly, one.name, first, guard);
    }
    if (course_.stopped()) return;
  }
}

void InlineAssembly::exec(const clang::GCCAsmStmt* s) {
  const Where where = s->getAsmLoc();
  const std::string text = without_comments(s->getAsmString()->getString());
  if (s->isAsmGoto()) return course_.complain(where, "assembly jumps out of itself here");
  if (StringRef(text).contains("%["))
    return course_.complain(where, "operands of this assembly have names", where,
                            "write their numbers, as nvcc reads them: %0");
  for (const char* name : {"%ctaid", "%nctaid", "%cluster", "%gridid"}) {
    if (!StringRef(text).contains(name)) continue;
    return course_.complain(where,
                            std::string("assembly reads ") + name +
                                ", which is not the block that is told to the kernel",
                            where, "read blockIdx");
  }
  Assembly assembly;
  assembly.statement = s;
  std::vector<Value> outputs;
  for (unsigned i = 0; i < s->getNumOutputs(); ++i) {
    outputs.push_back(walker_.address(s->getOutputExpr(i)));
    assembly.operands.push_back(
        s->isOutputPlusConstraint(i)
            ? storage_.load(outputs.back(), s->getOutputExpr(i)->getType(), where)
            : Value{Root::number, 0, unknown(nodes_, "a value from inline assembly", where)});
  }
  for (unsigned i = 0; i < s->getNumInputs(); ++i) {
    const clang::Expr* input = s->getInputExpr(i);
    assembly.operands.push_back(input->isGLValue() ? walker_.address(input) : walker_.eval(input));
  }
  if (course_.stopped()) return;
  const std::vector<Value> given(assembly.operands.begin() + s->getNumOutputs(),
                                 assembly.operands.end());
  exec_instructions(assembly, text);
  if (course_.stopped()) return;
  // The assembly may have stored through pointers among its operands.
  for (unsigned i = 0; i < s->getNumInputs(); ++i) {
    if (!s->getInputExpr(i)->isGLValue()) storage_.forget(given[i]);
  }
  for (unsigned i = 0; i < s->getNumOutputs(); ++i) {
    const Type type = s->getOutputExpr(i)->getType();
    storage_.store(outputs[i], unknown_value(nodes_, type, "a value from inline assembly", where),
                   type, where);
    if (course_.stopped()) return;
  }
}

}  // namespace tilepost::inference
