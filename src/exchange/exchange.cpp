#include "exchange/exchange.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "base/counted.hpp"
#include "exchange/assembly.hpp"
#include "exchange/meeting.hpp"
#include "exchange/talk.hpp"

namespace couplet::exchange {
namespace {

// Messages may still refer to memory of an exchange that was closed. After this time it is kept for the universe's end.
constexpr std::uint64_t max_ending_ns = 1'000'000'000;
// So often a patient wait looks for the end of its round, before it ends with each arrival.
constexpr int patient_polls = 100;
// The longest sleep of this process while a method needs calls of poll().
constexpr std::uint64_t driven_nap_ns = 200'000;

// Simplifies the edges, and returns their routes.
Result<Routes> routes_of(std::vector<Edge>& edges, std::int32_t rank) {
  for (Edge& edge : edges) {
    for (Region& region : edge.regions) region = simplified(region);
  }
  COUPLET_TRY(check_apart(edges, rank));
  return Routes::of(edges, rank);
}

// Returns what two edges of the same name do not have in common; "" if there is nothing.
std::string_view differing_term(const Edge& one, const Edge& other) {
  if (one.is_variable != other.is_variable) return "kind of length";
  if (one.every != other.every) return "`every`";
  if (one.offset != other.offset) return "`offset`";
  return one.title != other.title ? "title" : "";
}

// For which ranks the round waits.
std::string awaited(const Rounds& rounds, const Routes& routes, const Notices& notices) {
  std::string names;
  for (const std::uint32_t port : rounds.awaited_ports()) {
    names += (names.empty() ? "" : ", ") + notices.name_of(routes.ports[port].peer);
  }
  return names.empty() ? "what was sent to be taken" : names;
}

// Returns an error if a neighbour has failed, or if the round waits for one that has closed the exchange or left. What
// such a neighbour has sent before may be here by now.
Status news_of(Notices& notices, Rounds& rounds, const Routes& routes) {
  Status why = notices.look(rounds.count());
  if (!why.ok() && why.code() != Code::state) return why;
  if (why.ok() && !notices.has_departed()) return why;
  if (rounds.advance() != Progress::waiting) return {};
  if (!why.ok()) return why;
  for (const std::uint32_t port : rounds.awaited_ports()) {
    COUPLET_TRY(notices.departure_of(routes.ports[port].peer));
  }
  return {};
}

}  // namespace

Exchange::Exchange(const Surroundings& around, const message::Group& group, std::string name,
                   const ExchangeOptions& options)
    : around_(around),
      group_(group),
      name_(std::move(name)),
      options_(options),
      notices_(*around.messenger, group_),
      waiting_(*around.engine) {
  group_.pending = 0;
  if (options_.title.empty()) options_.title = fmt::format("exchange '{}'", name_);
}

Exchange::~Exchange() = default;

Result<std::unique_ptr<Exchange>> Exchange::create(const Surroundings& around, const message::Group& group,
                                                   const std::string& name, const ExchangeOptions& options) {
  if (name.empty()) return fail(Code::argument, "the name of an exchange must not be empty");
  if (group.rank() < 0) {
    return fail(Code::state, "exchange '{}': this process is no member of group '{}'", name, group.name());
  }
  return std::unique_ptr<Exchange>(new Exchange(around, group, name, options));
}

Status Exchange::expect(State wanted, std::string_view what) const {
  if (state_ == wanted) return {};
  if (state_ == State::failed) return failure_;
  constexpr const char* states[] = {"it is not frozen yet", "it is frozen, and no round is under way",
                                    "a round is under way", "it has failed", "it is closed"};
  return fail(Code::state, "{}: {} cannot be done, since {}", options_.title, what,
              states[static_cast<std::size_t>(state_)]);
}

// ---- before it is frozen ----

Result<std::uint32_t> Exchange::add(Edge edge) {
  COUPLET_TRY(expect(State::open, "adding an edge"));
  if (Status checked = check(edge, group_.size()); !checked.ok()) {
    return checked.within(fmt::format("{}: {}", options_.title, describe(edge, group_.rank())));
  }
  const EdgeName edge_name{edge.direction, edge.peer, edge.tag};
  const std::uint64_t bytes = edge.bytes();
  const auto found = added_.find(edge_name);
  if (found == added_.end()) {
    const auto place = static_cast<std::uint32_t>(edges_.size());
    if (edges_.size() == edges_.capacity()) edges_.reserve(2 * edges_.size() + 8);
    added_.emplace(edge_name, Added{.place = place, .bytes = bytes});
    edges_.push_back(std::move(edge));  // finds its room, so that there is no edge without a name
    return place;
  }
  Added& added = found->second;
  Edge& other = edges_[added.place];
  if (const std::string_view term = differing_term(other, edge); !term.empty()) {
    return fail(Code::mismatch, "{}: {} was added before with another {}", options_.title,
                describe(other, group_.rank()), term);
  }
  if (added.bytes + bytes > max_edge_bytes) {
    return fail(Code::argument, "{}: {} has {} bytes; at most {} are possible", options_.title,
                describe(edge, group_.rank()), added.bytes + bytes, max_edge_bytes);
  }
  std::move(edge.regions.begin(), edge.regions.end(), std::back_inserter(other.regions));
  added.bytes += bytes;
  return added.place;
}

Status Exchange::freeze(const Status& own) {
  COUPLET_TRY(expect(State::open, "freezing"));
  auto team = message::MessageTeam::open(*around_.messenger, group_, "exchange " + name_);
  Status met = team.status();
  if (met.ok()) {
    try {
      met = meet(**team, own, os::deadline_after(options_.timeout_s));
      if (met.ok()) rounds_ = std::make_unique<Rounds>(edges_, routes_, *choice_.method);
    } catch (const std::bad_alloc&) {
      met = Code::memory;
    }
    if (!met.ok()) (*team)->leave(met);  // the others wait for what this member would say
  }
  if (!met.ok()) return give_up(met);
  around_.engine->add(*this, engine::Rate::often);
  if (choice_.method->is_driven()) around_.engine->limit_sleep(driven_nap_ns);
  state_ = State::frozen;
  return {};
}

Status Exchange::meet(message::Team& team, const Status& own_edges, std::uint64_t deadline_ns) {
  const auto news = [this] { return notices_.look(0); };
  GroupTalk talk(*around_.messenger, group_, team, options_.title, deadline_ns);
  auto routes = own_edges.ok() ? routes_of(edges_, group_.rank()) : Result<Routes>(Status(own_edges));
  if (routes.ok()) routes_ = std::move(*routes);
  const bool has_costs = around_.costs != nullptr && !around_.costs->exchanges.empty();
  COUPLET_TRY_VALUE(const Greeting own, greeting_of(routes.status(), routes_, around_.makers, options_.method,
                                                    !around_.choice_cache.empty(), has_costs));
  COUPLET_TRY_VALUE(const RollCall all, call_roll(talk, own, group_.rank()));
  notices_.open(exchange_context(group_, all.epoch, 0), all.neighbors);
  talk.set_ports(exchange_context(group_, all.epoch, 1), all.neighbors, news);
  const auto name_of = [this](std::int32_t rank) { return notices_.name_of(rank); };
  COUPLET_TRY(compare_with_neighbors(talk, all.neighbors, edges_, group_.rank(), name_of));
  const std::vector<std::string>& common = all.situation.methods;
  Candidates candidates{.makers = {},
                        .wanted = options_.method,
                        .epoch = all.epoch,
                        .has_cache = all.has_cache,
                        .cache = ChoiceCache(around_.choice_cache),
                        .situation = all.situation,
                        .has_costs = all.has_costs,
                        .costs = has_costs ? around_.costs : nullptr,
                        .cost_origin = around_.cost_origin,
                        .max_bytes = all.max_bytes};
  for (Maker* const maker : around_.makers) {
    const bool is_common = std::find(common.begin(), common.end(), maker->name()) != common.end();
    if (is_common) candidates.makers.push_back(maker);
  }
  Setting setting;
  setting.rank = group_.rank();
  setting.size = group_.size();
  setting.ports = routes_.ports;
  setting.run_directory = around_.run_directory;
  setting.name = name_;
  setting.deadline_ns = deadline_ns;
  setting.group = &group_;
  return choose_method(candidates, setting, talk, *around_.engine, news, choice_);
}

// ---- rounds ----

Status Exchange::start() {
  COUPLET_TRY(expect(State::frozen, "starting a round"));
  state_ = State::running;
  return rounds_->start() == Progress::failed ? end_round() : Status();
}

// A neighbour that has failed, or closed, and has left after that, has said why before. The round may hear first that
// it has left.
Status Exchange::end_round() {
  if (rounds_->progress() == Progress::failed) {
    if (rounds_->failure().code() == Code::peer_lost) around_.engine->look_at_all();
    const Status news = notices_.look(rounds_->count());
    const bool explains = !news.ok() && (news.code() != Code::peer_lost || notices_.was_told());
    return give_up(explains ? news : rounds_->failure());
  }
  state_ = State::frozen;
  return {};
}

// Does what can be done without waiting. A caller that never waits hears of a lost neighbour only here.
Status Exchange::move() {
  if (!choice_.method->blocks()) static_cast<void>(rounds_->advance());
  if (rounds_->progress() == Progress::waiting) {
    around_.engine->poll();
    if (notices_.has_news(rounds_->count()) || notices_.has_departed()) {
      if (Status why = news_of(notices_, *rounds_, routes_); !why.ok()) return give_up(why);
    }
  }
  return rounds_->progress() == Progress::failed ? end_round() : Status();
}

Status Exchange::test(bool& is_done) {
  is_done = false;
  COUPLET_TRY(expect(State::running, "testing a round"));
  COUPLET_TRY(move());
  if (rounds_->progress() == Progress::waiting) return {};
  COUPLET_TRY(end_round());
  is_done = true;
  return {};
}

Status Exchange::wait(std::uint64_t deadline_ns, Partial* partial) {
  COUPLET_TRY(expect(State::running, "waiting for a round"));
  const std::size_t enough = partial == nullptr ? SIZE_MAX : partial->arrived_count;
  int patience = partial != nullptr && partial->is_patient ? patient_polls : 0;
  std::uint64_t start_ns = 0;
  const auto advance = [rounds = rounds_.get(), enough, &patience, &start_ns, is_timed = partial != nullptr] {
    const Progress progress = rounds->advance();
    if (progress != Progress::waiting) return progress;
    if (start_ns == 0 && is_timed) start_ns = os::now_ns();
    if (patience-- > 0) return progress;
    return rounds->arrived_count() > enough ? Progress::done : progress;
  };
  Status waited = waiting_.until(
      advance, *choice_.method, [this] { return news_of(notices_, *rounds_, routes_); }, deadline_ns,
      [this] { return awaited(*rounds_, routes_, notices_); });
  if (partial != nullptr) partial->waited_ns = start_ns == 0 ? 0 : os::now_ns() - start_ns;
  if (!waited.ok()) {  // after a timeout or an interruption, the round is still under way
    const bool goes_on = waited.code() == Code::timeout || waited.code() == Code::interrupted;
    if (!goes_on) return give_up(waited);
    return waited.error() ? waited.within(fmt::format("{}, round {}", options_.title, rounds_->count() - 1)) : waited;
  }
  if (partial != nullptr) {
    partial->arrived_count = rounds_->arrived_count();
    partial->is_over = rounds_->progress() != Progress::waiting;
    if (!partial->is_over) return {};
  }
  return end_round();
}

Status Exchange::check_edge(std::uint32_t edge) const {
  if (state_ == State::failed) return failure_;
  if (state_ != State::frozen && state_ != State::running) return expect(State::frozen, "asking for an edge");
  if (edge < edges_.size()) return {};
  return fail(Code::argument, "{}: there is no edge {}; there are {}", options_.title, edge, edges_.size());
}

Result<bool> Exchange::arrived(std::uint32_t edge) {
  COUPLET_TRY(check_edge(edge));
  if (edges_[edge].direction != Direction::in) {
    return fail(Code::argument, "{}: {} does not receive here", options_.title, describe(edges_[edge], group_.rank()));
  }
  if (state_ == State::running && !rounds_->has_arrived(edge)) COUPLET_TRY(move());
  return rounds_->has_arrived(edge);
}

Status Exchange::set_length(std::uint32_t edge, std::uint64_t bytes) {
  COUPLET_TRY(check_edge(edge));
  COUPLET_TRY(expect(State::frozen, "setting a length"));
  const Edge& one = edges_[edge];
  if (one.direction != Direction::out || !one.is_variable) {
    return fail(Code::argument, "{}: {} has no length that this rank gives", options_.title,
                describe(one, group_.rank()));
  }
  if (bytes > one.bytes()) {
    return fail(Code::limit, "{}: {} has room for {}, not for {}", options_.title, describe(one, group_.rank()),
                counted(one.bytes(), "byte"), bytes);
  }
  rounds_->set_length(edge, bytes);
  return {};
}

Result<std::uint64_t> Exchange::length(std::uint32_t edge) const {
  COUPLET_TRY(check_edge(edge));
  return rounds_->length(edge);
}

std::string_view Exchange::method() const noexcept {
  return choice_.method == nullptr ? std::string_view() : choice_.method->name();
}

std::span<const Traffic> Exchange::traffic() const noexcept {
  return rounds_ == nullptr ? std::span<const Traffic>() : rounds_->traffic();
}

// ---- the end ----

// Tells the neighbours of the error. An error that this member has found gets the name of the exchange in front; one
// that a neighbour has told has it already.
Status Exchange::give_up(const Status& why) {
  if (state_ == State::failed || state_ == State::closed) return failure_;
  failure_ = why;
  const std::string text = why.text();
  if (!text.starts_with(options_.title)) {
    const bool has_begun = rounds_ != nullptr && rounds_->count() > 0;
    failure_ = why.within(options_.title + (has_begun ? fmt::format(", round {}", rounds_->count() - 1) : ""));
  }
  state_ = State::failed;
  notices_.tell({.news = wire::ExchangeNews::failed,
                 .rounds = rounds_ == nullptr ? 0 : rounds_->count(),
                 .code = static_cast<std::int32_t>(failure_.error() ? failure_.code() : Code::state),
                 .text = failure_.text()});
  return failure_;
}

Status Exchange::confer(const std::function<Status(Assembly&)>& body) {
  COUPLET_TRY(expect(State::open, "conferring"));
  auto team = message::MessageTeam::open(*around_.messenger, group_, "assembly " + name_);
  Status met = team.status();
  if (met.ok()) {
    try {
      assembly_ = std::make_unique<Assembly>(*around_.messenger, group_, **team, options_.title,
                                             os::deadline_after(options_.timeout_s));
      met = assembly_->hold(body);
    } catch (const std::bad_alloc&) {
      met = Code::memory;
    }
    if (!met.ok()) (*team)->leave(met);  // the others wait for what this member would say
  }
  return met.ok() ? met : give_up(met);
}

Status Exchange::close() {
  if (state_ == State::closed) return {};
  const State before = std::exchange(state_, State::closed);
  around_.engine->remove(*this);
  if (around_.record && rounds_ != nullptr) {
    around_.record({.title = options_.title,
                    .name = name_,
                    .method = choice_.method->name(),
                    .group = group_,
                    .rounds = rounds_->count(),
                    .ports = routes_.ports,
                    .traffic = rounds_->traffic()});
  }
  Status closed;
  if (before == State::running) {
    closed = fail(Code::state, "{} is closed at rank {} in the middle of round {}", options_.title, group_.rank(),
                  rounds_->count() - 1);
    notices_.tell({.news = wire::ExchangeNews::failed,
                   .rounds = rounds_->count(),
                   .code = static_cast<std::int32_t>(Code::state),
                   .text = closed.text()});
  }
  notices_.tell({.news = wire::ExchangeNews::closed, .rounds = rounds_ == nullptr ? 0 : rounds_->count(), .text = {}});
  bool is_over = choice_.method == nullptr;
  if (before == State::frozen) {
    Status ended;
    // A neighbour that has failed, or has closed in an earlier round, makes no call that closes the method.
    const auto over = [&] {
      auto answer = choice_.method->close();
      ended = answer.status();
      is_over = answer.ok() && *answer;
      return !ended.ok() || is_over || !notices_.look(rounds_->count()).ok();
    };
    closed = around_.engine->wait(over, os::deadline_after(options_.timeout_s),
                                  [this] { return "the neighbours to close " + options_.title; });
    if (closed.ok()) closed = ended;
  }
  const auto idle = [&] {
    is_over = is_over || choice_.method->abandon();
    std::erase_if(choice_.leftovers, [](const auto& method) { return method->abandon(); });
    return is_over && choice_.leftovers.empty() && notices_.is_idle();
  };
  notices_.close();
  rounds_.reset();
  static_cast<void>(around_.engine->wait(idle, os::now_ns() + max_ending_ns, [] { return std::string(); }));
  if (is_over) choice_.method.reset();
  return closed;
}

bool Exchange::is_idle() const noexcept {
  return choice_.method == nullptr && choice_.leftovers.empty() && notices_.is_idle();
}

int Exchange::poll(std::uint64_t /*now_ns*/, int /*budget*/) {
  if (state_ == State::frozen && choice_.method->is_driven()) {
    static_cast<void>(choice_.method->poll());  // an error is final, so the next round finds it
    return 0;
  }
  if (state_ != State::running || choice_.method->blocks()) return 0;
  return rounds_->progress() == Progress::waiting && rounds_->advance() != Progress::waiting ? 1 : 0;
}

bool Exchange::ready() const {
  return state_ == State::running && (rounds_->progress() != Progress::waiting || notices_.has_news(rounds_->count()));
}

void Exchange::tick(std::uint64_t /*now_ns*/) {
  if (state_ == State::running) notices_.watch();
}

}  // namespace couplet::exchange
