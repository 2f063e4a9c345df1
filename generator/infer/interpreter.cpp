#include "generator/infer/interpreter.h"

#include "clang/AST/Attr.h"

namespace tilepost::inference {

using llvm::StringRef;

namespace {

std::array<int64_t, kSymbols> extents(const KernelFacts& facts) {
  return {facts.threads[0], facts.threads[1], facts.threads[2],
          facts.grid[0],    facts.grid[1],    facts.grid[2]};
}

}  // namespace

Interpreter::Interpreter(const Parsed& parsed, const KernelFacts& facts, Unrolling& unrolling,
                         Terms* terms)
    : nodes(extents(facts), terms),
      parsed_(parsed),
      launch_(facts),
      unrolling_(unrolling),
      terms_(terms) {
  memory_.add("");  // object 0 is no variable
}

// The constant for a number that the launch gives by that name.
NodeId Interpreter::given(int64_t value, const std::string& name) {
  return nodes.constant(value, terms_ ? terms_->given(name) : 0);
}

// The constant offset in a variable that a pointer leads to. At another m it may be another one, so
// it is a decision.
int64_t Interpreter::place(Value pointer) {
  nodes.decide(pointer.node);
  return nodes[pointer.node].value;
}

void Interpreter::bind_parameters(const clang::FunctionDecl* kernel) {
  for (const clang::ParmVarDecl* parameter : kernel->parameters()) {
    const Type type = parameter->getType();
    const std::string name = parameter->getNameAsString();
    const uint32_t object = object_of(parameter);
    memory_[object].facts = 0;
    Value value;
    if (name == launch_.out) {
      out_ = parameter;
      value.root = Root::output;
    } else if (type->isPointerType()) {
      value = {launch_.nulls.count(name) ? Root::null : Root::other, memory_.add(name), 0};
      memory_[value.object].is_parameter = true;
    } else if (type->isIntegralOrEnumerationType() && launch_.numbers.count(name)) {
      value.node = nodes.convert(given(launch_.numbers.at(name), name), int_type(type));
    } else if (type->isScalarType()) {
      value.node = nodes.unknown({"the parameter '" + name + "'"}, name);
    } else {
      continue;  // nothing is known of the contents of a struct
    }
    memory_.write(object, 0, size_of(type), value, type->isRealFloatingType());
  }
}

bool Interpreter::run(const clang::FunctionDecl* kernel) {
  for (const auto* note : kernel->specific_attrs<clang::AnnotateAttr>()) {
    if (note->getAnnotation() == "cluster_dims") {
      complain(kernel->getLocation(),
               "blocks of a cluster work together here, and each would be given a tile of its own",
               kernel->getLocation(), "use a kernel without clusters, or mark its tile loop");
      return true;
    }
    if (note->getAnnotation() == "block_size") {
      complain(kernel->getLocation(), "a kernel with __block_size__ cannot become a function",
               kernel->getLocation(), "leave it out: threads and grid say it");
      return true;
    }
  }
  enter(kernel, kernel, {});
  bind_parameters(kernel);
  if (!out_ || !out_->getType()->isPointerType()) {
    complain(kernel->getLocation(), out_ ? "the output '" + launch_.out + "' is no pointer"
                                         : "there is no parameter '" + launch_.out + "'");
    return true;
  }
  exec(kernel->getBody());
  if (restart_ || !findings.complaints.empty()) return !restart_;
  nodes.decide_leaves(roots_of(findings));
  if (pending_copies_.isValid()) {
    run_once(pending_copies_, "copies that are not waited for before the kernel ends");
  }
  if (findings.stores.empty()) {
    const std::string at = terms_ ? "at m=" + std::to_string(launch_.m) + " " : "";
    complain(kernel->getLocation(), at + "nothing is stored through '" + launch_.out + "'",
             kernel->getLocation(), "out names the parameter that the kernel stores its result to");
  }
  return true;
}

void Interpreter::complain(Where where, const std::string& text, Where note_at,
                           const std::string& note) {
  trial_complaint_ |= trial_;
  if (trial_ || stopped()) return;
  findings.complaints.push_back({in_source(where), text, in_source(note_at), note});
}

clang::SourceLocation Interpreter::in_source(Where where) const {
  for (auto frame = frames_.rbegin(); frame != frames_.rend() && !parsed_.expanded(where); ++frame)
    where = frame->site;
  return where;
}

bool Interpreter::step(Where where) {
  if (stopped()) return false;
  ++steps_;
  if (unrolling_.shared_work &&
      (steps_ > kMaxSharedSteps || nodes.size() > size_t{kMaxSharedSteps})) {
    trial_ = false;
    complain(unrolling_.shared_work->where,
             "blocks wait for each other or add to one tile here (" + unrolling_.shared_work->what +
                 "), and which of them makes a tile cannot be followed",
             unrolling_.shared_work->where,
             "use the kernel without split-K: a block must make its tile by itself");
    return false;
  }
  const char* what = steps_ > kMaxSteps                    ? "statements and expressions are run"
                     : nodes.size() > kMaxNodes            ? "values are computed"
                     : findings.stores.size() > kMaxStores ? "stores are made by each thread"
                     : findings.reads.size() > kMaxStores  ? "reads of the output by each thread"
                                                           : nullptr;
  if (!what) return true;
  const bool was_trial = std::exchange(trial_, false);
  const auto bound = steps_ > kMaxSteps         ? size_t{kMaxSteps}
                     : nodes.size() > kMaxNodes ? kMaxNodes
                                                : kMaxStores;
  complain(where,
           "more than " + std::to_string(bound) + " " + what + " to find where the kernel stores",
           where, "mark the kernel instead: tilepost::tile, out_base and tile_done");
  trial_ = was_trial;
  return false;
}

NodeId Interpreter::unknown(const std::string& text, Where where, Alike alike) {
  return nodes.unknown({text, where.getRawEncoding(), nullptr, alike});
}

Value Interpreter::unknown_value(Type type, const std::string& text, Where where, Alike alike) {
  const bool pointer = type->isPointerType() || type->isReferenceType();
  return {pointer ? Root::unknown : Root::number, 0, unknown(text, where, alike)};
}

std::string Interpreter::explain(NodeId lost) const {
  const std::vector<NodeId> unknowns = nodes.unknowns(lost);
  return unknowns.empty() ? "arithmetic that overflows" : nodes.reason(unknowns.front()).text;
}

namespace {

// Calls `use` once with every condition that holds if `condition` holds. Conditions may share
// parts.
template <class Use>
void for_each_part(const Nodes& nodes, NodeId condition, const Use& use) {
  std::set<NodeId> seen{condition};
  std::vector<NodeId> left{condition};
  while (!left.empty()) {
    const NodeId part = left.back();
    left.pop_back();
    use(part);
    const Node& node = nodes[part];
    if (node.op != Op::both) continue;
    for (const NodeId each : {node.a, node.b})
      if (seen.insert(each).second) left.push_back(each);
  }
}

}  // namespace

void Interpreter::push_fact(NodeId condition) {
  facts_.push_back(condition);
  assumed_.clear();
  for_each_part(nodes, condition, [&](NodeId part) { ++known_[part]; });
}

void Interpreter::pop_facts(size_t size) {
  if (facts_.size() > size) assumed_.clear();
  for (; facts_.size() > size; facts_.pop_back()) {
    for_each_part(nodes, facts_.back(), [&](NodeId part) {
      if (--known_[part] == 0) known_.erase(part);
    });
  }
}

NodeId Interpreter::facts_since(size_t first) {
  NodeId all = nodes.constant(1);
  for (size_t i = first; i < facts_.size(); ++i) all = nodes.both(all, facts_[i]);
  return all;
}

// The node, simplified by the facts. Looks into choices and conditions, not into arithmetic.
// Because conditions share parts, results are kept as long as the facts stay the same.
NodeId Interpreter::assume(NodeId node, int depth) {
  if (facts_.empty() || depth > 200) return node;
  if (const auto found = assumed_.find(node); found != assumed_.end()) return found->second;
  const NodeId assumed = assume_anew(node, depth);
  assumed_.emplace(node, assumed);
  return assumed;
}

NodeId Interpreter::assume_anew(NodeId node, int depth) {
  const Node at = nodes[node];
  switch (at.op) {
    case Op::select: {
      const NodeId condition = assume(at.a, depth + 1);
      if (nodes.is_constant(condition)) {
        return assume(nodes[condition].value ? at.b : at.c, depth + 1);
      }
      return node;
    }
    case Op::both: {
      if (at.safe && known_.count(node)) return nodes.constant(1);
      return nodes.both(assume(at.a, depth + 1), assume(at.b, depth + 1));
    }
    case Op::negation:
      if (nodes[at.a].op == Op::unknown && known_.count(node)) return nodes.constant(1);
      if (at.safe && known_.count(node)) return nodes.constant(1);
      return nodes.negation(assume(at.a, depth + 1));
    case Op::less:
    case Op::equal:
    case Op::choice:
    case Op::unknown:  // an unknown condition: see Nodes::condition
      if (!at.safe && at.op != Op::unknown) return node;
      if (known_.count(node)) return nodes.constant(1);
      if (const NodeId opposite = nodes.negation(node); known_.count(opposite)) {
        return nodes.constant(0);
      }
      return node;
    default:
      return node;
  }
}

// The condition under which a thread has left: by a return, or by a break or continue of the
// innermost loop or switch.
NodeId Interpreter::gone() {
  const Frame& frame = frames_.back();
  return nodes.either(frame.returned, nodes.either(frame.broken, frame.continued));
}

// A loop that was passed over and makes the node's value unknown, or null.
const void* Interpreter::loop_of(NodeId node) const {
  for (const NodeId lost : nodes.unknowns(node)) {
    if (const void* loop = nodes.reason(lost).loop) return loop;
  }
  return nullptr;
}

// Asks for another run, with those loops unrolled that make the node's value unknown.
void Interpreter::need_loops_of(NodeId node, Where meeting) {
  for (const NodeId lost : nodes.unknowns(node)) {
    const auto* loop = static_cast<const clang::Stmt*>(nodes.reason(lost).loop);
    if (!loop || unrolling_.tried.count(loop)) continue;
    unrolling_.loops.insert(loop);
    if (meeting.isValid()) unrolling_.meetings.emplace(loop, in_source(meeting));
    restart_ = true;
  }
}

void Interpreter::run_once(Where where, const std::string& what) {
  if (!findings.runs_once) findings.runs_once = InferredPlace{where, what};
}

}  // namespace tilepost::inference
