#include "exchange/chooser.hpp"

#include <algorithm>
#include <bit>

#include "exchange/rounds.hpp"
#include "exchange/talk.hpp"
#include "wire/fields.hpp"

namespace couplet::exchange {
namespace {

constexpr int check_rounds = 3;  // both halves, and one of them again
constexpr int warm_rounds = 2;
constexpr std::size_t sample_count = 5;
constexpr int rounds_of_sample = 10;
constexpr std::uint64_t large_bytes = 1U << 20U;  // from here on, a sample is one round
// If the check of the contents takes longer, the trials are few.
constexpr double long_check_ns = 1e9;
constexpr double tie_share = 0.03;
constexpr std::uint64_t first_method_context = 16;
constexpr std::size_t max_path_bytes = 4096;

// The same ports, with edges of memory of their own.
class Trial {
 public:
  Trial(const Setting& setting, Method& method);

  // Runs a round, and waits for it.
  Status run(Waiting& waiting, const std::function<Status()>& news, std::uint64_t deadline_ns);
  void fill(std::uint64_t round) noexcept;
  [[nodiscard]] Status check(std::uint64_t round) const;
  [[nodiscard]] std::string awaited() const;
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  static std::byte expected(std::int32_t from, std::int32_t to, std::uint64_t round, std::uint64_t place) noexcept {
    const std::uint64_t mixed = (static_cast<std::uint64_t>(from) * 131 + static_cast<std::uint64_t>(to)) * 137 +
                                round * 29 + place * 3 + (place >> 8U);
    return static_cast<std::byte>(mixed);
  }

  const Setting& setting_;
  Method& method_;
  std::vector<Buffer> memory_;
  std::vector<Edge> edges_;
  Routes routes_;
  std::unique_ptr<Rounds> rounds_;
  std::uint64_t bytes_ = 0;
};

Trial::Trial(const Setting& setting, Method& method) : setting_(setting), method_(method) {
  for (const Port& port : setting.ports) {
    Route out;
    Route in;
    for (const Direction direction : {Direction::out, Direction::in}) {
      const bool sends = direction == Direction::out;
      if (!(sends ? port.sends : port.receives)) continue;
      const std::uint64_t bytes = sends ? port.out_bytes : port.in_bytes;
      memory_.push_back(make_buffer(bytes));
      Route& route = sends ? out : in;
      route.edges.push_back(static_cast<std::uint32_t>(edges_.size()));
      route.max_bytes = bytes;
      edges_.push_back({.direction = direction,
                        .peer = port.peer,
                        .regions = {{.memory = memory_.back().get(), .run_bytes = bytes}}});
      bytes_ += bytes;
    }
    routes_.ports.push_back(port);
    routes_.out.push_back(std::move(out));
    routes_.in.push_back(std::move(in));
  }
  rounds_ = std::make_unique<Rounds>(edges_, routes_, method_);
}

void Trial::fill(std::uint64_t round) noexcept {
  for (const Edge& edge : edges_) {
    const Region& region = edge.regions.front();
    const bool sends = edge.direction == Direction::out;
    for (std::uint64_t place = 0; place < region.run_bytes; ++place) {
      region.memory[place] = sends ? expected(setting_.rank, edge.peer, round, place) : std::byte{0xA5};
    }
  }
}

Status Trial::check(std::uint64_t round) const {
  for (const Edge& edge : edges_) {
    if (edge.direction != Direction::in) continue;
    const Region& region = edge.regions.front();
    for (std::uint64_t place = 0; place < region.run_bytes; ++place) {
      if (region.memory[place] == expected(edge.peer, setting_.rank, round, place)) continue;
      return fail(Code::mismatch, "byte {} of {} from rank {} is wrong at rank {}", place, region.run_bytes, edge.peer,
                  setting_.rank);
    }
  }
  return {};
}

Status Trial::run(Waiting& waiting, const std::function<Status()>& news, std::uint64_t deadline_ns) {
  if (rounds_->start() == Progress::failed) return rounds_->failure();
  COUPLET_TRY(
      waiting.until([this] { return rounds_->advance(); }, method_, news, deadline_ns, [this] { return awaited(); }));
  return rounds_->failure();
}

std::string Trial::awaited() const {
  std::string names;
  for (const std::uint32_t port : rounds_->awaited_ports()) {
    names += fmt::format("{}rank {}", names.empty() ? "" : ", ", setting_.ports[port].peer);
  }
  return fmt::format("{} in a trial of {}", names.empty() ? "what was sent to be taken" : names, method_.name());
}

// What a member has found out about one method.
struct Finding {
  Status status;
  double time_ns = 0;
};

Status check_contents(Trial& trial, Waiting& waiting, const std::function<Status()>& news, std::uint64_t deadline_ns) {
  Status first;
  for (std::uint64_t round = 0; round < check_rounds; ++round) {
    trial.fill(round);
    COUPLET_TRY(trial.run(waiting, news, deadline_ns));
    if (first.ok()) first = trial.check(round);
  }
  return first;
}

// How often a method is tried.
struct Effort {
  int warm = warm_rounds;
  std::size_t samples = sample_count;
  int rounds = rounds_of_sample;  // in each sample
};

Result<double> time_rounds(Trial& trial, Waiting& waiting, const std::function<Status()>& news, const Effort& effort,
                           std::uint64_t deadline_ns) {
  for (int round = 0; round < effort.warm; ++round) COUPLET_TRY(trial.run(waiting, news, deadline_ns));
  std::vector<double> samples(effort.samples);
  for (double& sample : samples) {
    const std::uint64_t start_ns = os::now_ns();
    for (int round = 0; round < effort.rounds; ++round) COUPLET_TRY(trial.run(waiting, news, deadline_ns));
    sample = static_cast<double>(os::now_ns() - start_ns) / effort.rounds;
  }
  std::sort(samples.begin(), samples.end());
  return samples[samples.size() / 2];
}

// The longest time of any member.
Result<double> longest(Talk& talk, double time_ns) {
  wire::FieldWriter writer;
  writer.put(time_ns);
  COUPLET_TRY_VALUE(const auto all, talk.gather(writer.take()));
  double most = 0;
  for (const std::string& one : all) {
    wire::FieldReader reader(one, "a time of a trial");
    most = std::max(most, reader.take_real("time"));
    COUPLET_TRY(reader.finish());
  }
  return most;
}

// What the first member remembers of this situation, as it tells all.
struct Memory {
  RememberedChoice choice;  // its method is empty if it remembers nothing
  std::string path;
};

Result<Memory> recall(const Candidates& candidates, const Setting& setting, Talk& talk) {
  wire::FieldWriter writer;
  if (setting.rank == 0) {
    const RememberedChoice own = candidates.cache.find(candidates.situation).value_or(RememberedChoice{});
    writer.put_text(own.method);
    writer.put(own.time_ns);
    writer.put_text(candidates.cache.path().substr(0, max_path_bytes));
  }
  COUPLET_TRY_VALUE(const auto all, talk.gather(writer.take()));
  wire::FieldReader reader(all.front(), "a remembered choice");
  Memory memory;
  memory.choice.method = reader.take_text("method", max_path_bytes);
  memory.choice.time_ns = reader.take_real("time");
  memory.path = reader.take_text("path", max_path_bytes);
  COUPLET_TRY(reader.finish());
  return memory;
}

// What the first member predicts, as it tells all. The times are those of the makers, in their order.
struct Predicted {
  std::vector<double> times_ns;
  std::string origin;
};

// Puts the makers in the order of the predicted times of the first member, and returns these in the new order.
Result<Predicted> order_by_costs(Candidates& candidates, const Setting& setting, Talk& talk) {
  wire::FieldWriter writer;
  std::vector<double> own(candidates.makers.size(), cost::unknown_time_ns);
  if (setting.rank == 0 && candidates.costs != nullptr) {
    std::vector<std::string> names;
    names.reserve(candidates.makers.size());
    for (const Maker* const maker : candidates.makers) names.emplace_back(maker->name());
    own = cost::exchange_times_ns(*candidates.costs, names, candidates.max_bytes);
  }
  for (const double time_ns : own) writer.put(time_ns);
  writer.put_text(candidates.cost_origin.substr(0, max_path_bytes));
  COUPLET_TRY_VALUE(const auto all, talk.gather(writer.take()));
  wire::FieldReader reader(all.front(), "predicted times of methods");
  std::vector<double> times_ns(candidates.makers.size());
  for (double& time_ns : times_ns) time_ns = reader.take_real("time");
  Predicted predicted;
  predicted.origin = reader.take_text("origin", max_path_bytes);
  COUPLET_TRY(reader.finish());
  std::vector<Maker*> makers;
  for (const std::size_t place : cost::trial_order(times_ns)) {
    makers.push_back(candidates.makers[place]);
    predicted.times_ns.push_back(times_ns[place]);
  }
  candidates.makers = std::move(makers);
  return predicted;
}

class Chooser {
 public:
  // only: the one method that is made, or "".
  Chooser(const Candidates& candidates, const Predicted& predicted, std::string_view only, const Setting& setting,
          Talk& talk, engine::Engine& engine, const std::function<Status()>& news, Choice& choice)
      : candidates_(candidates),
        predicted_(predicted),
        only_(only),
        setting_(setting),
        talk_(talk),
        engine_(engine),
        waiting_(engine),
        news_(news),
        choice_(choice) {}
  // After an error, methods are left.
  ~Chooser() {
    for (Tried& tried : tried_) {
      if (tried.method != nullptr) static_cast<void>(leave_out(std::move(tried.method), false));
    }
  }
  Chooser(const Chooser&) = delete;
  Chooser& operator=(const Chooser&) = delete;

  Status choose();

 private:
  struct Tried {
    std::string_view name;
    double predicted_ns = cost::unknown_time_ns;
    std::unique_ptr<Method> method;
    Finding finding;
  };
  [[nodiscard]] bool is_pinned() const { return candidates_.wanted != automatic_method; }
  Status make_all();
  Status try_out(Tried& tried, int rounds);
  [[nodiscard]] Status fatal_part(const Status& found, std::string_view name) const;
  Status leave_out(std::unique_ptr<Method> method, bool in_good_order);
  [[nodiscard]] std::string table(int chosen) const;

  const Candidates& candidates_;
  const Predicted& predicted_;
  std::string_view only_;
  const Setting& setting_;
  Talk& talk_;
  engine::Engine& engine_;
  Waiting waiting_;
  const std::function<Status()>& news_;
  std::vector<Tried> tried_;
  Choice& choice_;
};

// What one method cannot do says nothing about the others; that a member is lost, or too late, does.
bool is_fatal(Code code) {
  return code == Code::timeout || code == Code::peer_lost || code == Code::interrupted || code == Code::memory;
}

Status Chooser::make_all() {
  for (std::size_t place = 0; place < candidates_.makers.size(); ++place) {
    Maker& maker = *candidates_.makers[place];
    if (!only_.empty() && maker.name() != only_) continue;
    const std::size_t number = place + (only_.empty() ? 0 : candidates_.makers.size());  // each is made once
    Setting setting = setting_;
    setting.is_pinned = is_pinned();
    setting.context = exchange_context(*setting.group, candidates_.epoch, first_method_context + number);
    setting.name = fmt::format("{}.{}", setting_.name, number);
    auto made = maker.make(setting, talk_);
    Status own = made.status();
    if (own.ok() && !is_pinned() && (*made)->blocks()) {
      own = fail(Code::unsupported, "it waits inside of calls of MPI, so it is used only if it is asked for by name");
    }
    Status agreed = talk_.agree(own);
    if (is_fatal(agreed.code())) return agreed;
    Tried& tried = tried_.emplace_back();
    tried.name = maker.name();
    tried.predicted_ns = predicted_.times_ns.empty() ? cost::unknown_time_ns : predicted_.times_ns[place];
    tried.finding.status = agreed;
    if (agreed.ok()) {
      tried.method = std::move(*made);
    } else if (made.ok()) {  // all members have made it: only together can they free what an MPI has given
      COUPLET_TRY(leave_out(std::move(*made), true));
    }
  }
  return {};
}

Status Chooser::leave_out(std::unique_ptr<Method> method, bool in_good_order) {
  Status closed;
  if (in_good_order) {
    const auto is_closed = [&] {
      auto answer = method->close();
      closed = answer.status();
      return !closed.ok() || *answer;
    };
    COUPLET_TRY(engine_.wait(is_closed, setting_.deadline_ns, [] { return std::string("a method to end"); }));
    if (closed.ok()) return {};
  }
  if (!method->abandon()) choice_.leftovers.push_back(std::move(method));
  return {};
}

// Returns the error that ends the freeze at this member, or ok. The caller then tells the others at once, since they
// may wait for this member in the trial.
Status Chooser::fatal_part(const Status& found, std::string_view name) const {
  if (found.ok()) return {};
  COUPLET_TRY(news_());
  if (!is_fatal(found.code())) return {};
  if (!found.answer()) return found;
  return fail(Code::timeout, "interrupted in a trial of {}", name);
}

// All members make the same calls, unless one ends the freeze for all.
Status Chooser::try_out(Tried& tried, int rounds) {
  const std::uint64_t deadline_ns = setting_.deadline_ns;
  const std::uint64_t start_ns = os::now_ns();
  Trial trial(setting_, *tried.method);
  const Status checked = check_contents(trial, waiting_, news_, deadline_ns);
  COUPLET_TRY(fatal_part(checked, tried.name));
  tried.finding.status = talk_.agree(checked);
  if (is_fatal(tried.finding.status.code())) return tried.finding.status;
  if (tried.finding.status.ok()) {
    COUPLET_TRY_VALUE(const double check_ns, longest(talk_, static_cast<double>(os::now_ns() - start_ns)));
    const Effort effort =
        check_ns > long_check_ns ? Effort{.warm = 0, .samples = 1, .rounds = 1} : Effort{.rounds = rounds};
    auto time_ns = time_rounds(trial, waiting_, news_, effort, deadline_ns);
    COUPLET_TRY(fatal_part(time_ns.status(), tried.name));
    tried.finding.status = talk_.agree(time_ns.status());
    if (is_fatal(tried.finding.status.code())) return tried.finding.status;
    if (tried.finding.status.ok()) {
      COUPLET_TRY_VALUE(tried.finding.time_ns, longest(talk_, *time_ns));
    }
  }
  COUPLET_TRY(news_());
  if (!tried.finding.status.ok()) return leave_out(std::move(tried.method), false);
  return {};
}

std::string Chooser::table(int chosen) const {
  const bool is_predicted = !predicted_.times_ns.empty();
  std::string text = fmt::format("exchange '{}': ", setting_.name);
  if (is_pinned()) {
    text += "the method is pinned\n";
  } else if (is_predicted) {
    text += fmt::format("the methods, in the order of {}\n", predicted_.origin);
  } else {
    text += "the methods, in order of the list\n";
  }
  for (std::size_t place = 0; place < tried_.size(); ++place) {
    const Tried& tried = tried_[place];
    text += fmt::format("  {} {:<24}", static_cast<int>(place) == chosen ? "*" : " ", tried.name);
    if (!tried.finding.status.ok()) {
      text += "left out: " + tried.finding.status.text();
    } else if (tried.finding.time_ns > 0) {
      text += fmt::format("{:.2f} us a round", tried.finding.time_ns * 1e-3);
    } else {
      text += "not tried";
    }
    if (tried.predicted_ns >= 0) text += fmt::format(", predicted {:.2f} us", tried.predicted_ns * 1e-3);
    text += '\n';
  }
  return text;
}

Status Chooser::choose() {
  COUPLET_TRY(make_all());
  const auto is_usable = [](const Tried& one) { return one.method != nullptr; };
  const auto usable = std::count_if(tried_.begin(), tried_.end(), is_usable);
  std::vector<double> times_ns(tried_.size(), 0);
  const bool is_remembered = !only_.empty() && !is_pinned();  // it still has to deliver right contents
  if (usable > 1 || (usable == 1 && is_remembered)) {
    std::uint64_t bytes = 0;
    for (const Port& port : setting_.ports) bytes += port.in_bytes + port.out_bytes;
    COUPLET_TRY_VALUE(const double most_bytes, longest(talk_, static_cast<double>(bytes)));
    const int rounds = most_bytes >= static_cast<double>(large_bytes) ? 1 : rounds_of_sample;
    for (std::size_t place = 0; place < tried_.size(); ++place) {
      if (tried_[place].method == nullptr) continue;
      COUPLET_TRY(try_out(tried_[place], rounds));
      times_ns[place] = tried_[place].finding.time_ns;
    }
  } else {
    for (std::size_t place = 0; place < tried_.size(); ++place) times_ns[place] = tried_[place].method ? 1 : 0;
  }
  const int chosen = fastest(times_ns);
  choice_.explanation = table(chosen);
  if (chosen < 0) {
    std::string reasons;
    for (const Tried& tried : tried_) {
      reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", tried.name, tried.finding.status.text());
    }
    const bool needs_ucx = candidates_.wanted.find("rdma_") != std::string::npos;
    if (reasons.empty()) {
      std::string names;
      for (const Maker* maker : candidates_.makers)
        names += fmt::format("{}{}", names.empty() ? "" : ", ", maker->name());
      reasons =
          fmt::format("there is no method '{}' here; there are {}{}", candidates_.wanted, names,
                      needs_ucx ? "; the methods rdma_* need the link ucx in the setting 'links' of all ranks" : "");
    }
    return fail(Code::unsupported, "no method can be used ({})", reasons);
  }
  for (std::size_t place = 0; place < tried_.size(); ++place) {
    if (static_cast<int>(place) == chosen || tried_[place].method == nullptr) continue;
    COUPLET_TRY(leave_out(std::move(tried_[place].method), true));
  }
  choice_.method = std::move(tried_[static_cast<std::size_t>(chosen)].method);
  choice_.time_ns = tried_[static_cast<std::size_t>(chosen)].finding.time_ns;
  return {};
}

}  // namespace

int fastest(std::span<const double> times_ns) {
  double least = 0;
  for (const double time_ns : times_ns) {
    if (time_ns > 0 && (least == 0 || time_ns < least)) least = time_ns;
  }
  for (std::size_t place = 0; place < times_ns.size(); ++place) {
    if (times_ns[place] > 0 && times_ns[place] <= least * (1 + tie_share)) return static_cast<int>(place);
  }
  return -1;
}

Status choose_method(Candidates& candidates, const Setting& setting, Talk& talk, engine::Engine& engine,
                     const std::function<Status()>& news, Choice& choice) {
  Predicted predicted;
  if (candidates.has_costs) {
    COUPLET_TRY_VALUE(predicted, order_by_costs(candidates, setting, talk));
  }
  const auto choose = [&](std::string_view only) {
    return Chooser(candidates, predicted, only, setting, talk, engine, news, choice).choose();
  };
  if (candidates.wanted != automatic_method) return choose(candidates.wanted);
  if (!candidates.has_cache) return choose("");
  COUPLET_TRY_VALUE(const Memory memory, recall(candidates, setting, talk));
  if (!memory.choice.method.empty()) {
    const Status chosen = choose(memory.choice.method);
    choice.explanation +=
        fmt::format("  remembered in {}: {:.2f} us a round\n", memory.path, memory.choice.time_ns * 1e-3);
    if (chosen.code() != Code::unsupported) return chosen;
  }
  COUPLET_TRY(choose(""));
  if (setting.rank != 0 || choice.time_ns == 0) return {};
  const RememberedChoice found{.method = std::string(choice.method->name()), .time_ns = choice.time_ns};
  const Status stored = candidates.cache.store(candidates.situation, found);
  choice.explanation += stored.ok() ? fmt::format("  stored in {}\n", candidates.cache.path())
                                    : fmt::format("  not stored: {}\n", stored.text());
  return {};
}

}  // namespace couplet::exchange
