// One process of a world: carries out its script over the public C interface, one action after the other, and records
// what it has seen.
#include <couplet/couplet.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <iterator>
#include <map>
#include <utility>

#include "capi/private.h"
#include "chaos/actor/contents.hpp"
#include "history.hpp"
#include "tasks.hpp"

namespace world {
namespace {

using chaos::MessageLabel;
using chaos::SeriesContents;

constexpr std::int64_t elements = 24;
constexpr std::uint64_t max_message_words = 16'384;
constexpr std::int64_t steps_per_creation = 1000;  // the first number of the next one, on all ranks

// The messages in one direction between this process and another one.
struct Flow {
  std::uint64_t sequence = 0;
  couplet_request* request = nullptr;
  std::vector<std::uint64_t> buffer;
};

struct Written {
  couplet_series* series = nullptr;
  std::int64_t first = 0, stop = 0;
  std::int64_t next_step = 0;
  std::uint64_t creations = 0;  // in this life, with those that have failed
};

class Actor {
 public:
  Actor(const Plan& plan, Life& life) : plan_(plan), life_(life), role_(*life.role) {}
  void run();

 private:
  Call& begin(const char* verb, const std::string& object, double timeout_s) {
    return begin_call(life_, verb, object, timeout_s);
  }
  couplet_status end(Call& call, couplet_status status) { return end_call(life_, call, status); }
  bool carry_out(const Action& action);
  bool join(const Action& action);
  couplet_status join_once(const couplet_join_options& options);
  couplet_status join_with_job(const couplet_join_options& options);
  void create(const Action& action);
  bool put_one(Written& written, const Action& action);
  void put(const Action& action);
  void open(const Action& action);
  void read(const Action& action);
  void note_batch(Call& call, const couplet_series_batch& batch, const std::string& name) const;
  void count(const std::string& name, couplet_series* series);
  void close(const Action& action);
  void send(const Action& action);
  void receive(const Action& action);
  couplet_group* group_of(const std::string& programs);
  void sum(const Action& action);
  bool wait_for(Flow& flow, const Action& action, const char* verb, couplet_message* message);
  [[nodiscard]] SeriesContents contents(const std::string& name) const {
    return {plan_.seed, chaos::hash_of(name.c_str())};
  }
  [[nodiscard]] double seconds_since(Nanoseconds begin_ns) const {
    return static_cast<double>(kernel->now() - begin_ns) / 1e9;
  }

  const Plan& plan_;
  Life& life_;
  const Role& role_;
  couplet_universe* universe_ = nullptr;
  couplet_group* everybody_ = nullptr;
  std::map<std::string, Written> written_;
  std::map<std::string, couplet_series*> opened_;
  std::map<std::string, Flow> flows_;
  TaskPart tasks_{plan_, life_};
};

// Does what couplet_join_mpi does: all ranks of the job join, or none.
couplet_status Actor::join_with_job(const couplet_join_options& options) {
  Launch& launch = *life_.launch;
  const auto own = couplet_join(role_.program.c_str(), &options, &universe_);
  const std::string text = own == COUPLET_OK ? "another rank of the job could not join" : couplet_error_text();
  const auto worst = static_cast<couplet_status>(launch.agree(life_.job_rank, own));
  if (worst != COUPLET_OK) {
    if (own == COUPLET_OK) {
      static_cast<void>(couplet_leave(universe_));
    }
    return couplet_private_fail(worst, text.c_str());
  }
  std::int32_t self = 0;
  static_cast<void>(couplet_universe_rank(universe_, &self, nullptr));
  return couplet_private_use_window(
      universe_, std::string(couplet::series::window_build).c_str(),
      launch.open_window(life_.job_rank, static_cast<couplet::channel::PeerId>(self)).release());
}

couplet_status Actor::join_once(const couplet_join_options& options) {
  return life_.launch != nullptr ? join_with_job(options) : couplet_join(role_.program.c_str(), &options, &universe_);
}

bool Actor::join(const Action& action) {
  couplet_join_options options;
  couplet_join_options_init(&options);
  options.rank = role_.rank;
  options.size = role_.size;
  options.timeout_s = action.real("timeout", 20);
  const Nanoseconds begun = kernel->now();
  while (life_.launch != nullptr || seconds_since(begun) < action.real("patience", 30)) {
    Call& call = begin("join", role_.program, options.timeout_s);
    const auto status = end(call, join_once(options));
    if (status == COUPLET_OK) {
      couplet_universe_group(universe_, &everybody_);
      return true;
    }
    universe_ = nullptr;
    // The hub may not know yet that the former life of this process is dead, or the hub may be about to come back.
    const bool again = status == COUPLET_ERROR_EXISTS || status == COUPLET_ERROR_HUB_LOST;
    const bool patient = seconds_since(begun) < action.real("patience", 30);
    // The ranks of a job try again together.
    if (life_.launch != nullptr ? life_.launch->agree(life_.job_rank, again && patient ? 0 : -1) != 0 : !again) {
      return false;
    }
    sleep_s(0.2);
  }
  return false;
}

void Actor::create(const Action& action) {
  Written& written = written_[action.object];
  written.first = elements * role_.rank / role_.size;
  written.stop = elements * (role_.rank + 1) / role_.size;
  couplet_series_create_options options;
  couplet_series_create_options_init(&options);
  options.slots = static_cast<std::uint64_t>(action.whole("slots", 4));
  const std::string required = action.text("required");
  options.required_readers = required.empty() ? nullptr : required.c_str();
  options.required_timeout_s = action.real("required_timeout", 30);
  options.wait_timeout_s = action.real("wait", 2);
  Call& call = begin("create", action.object, -1);
  const std::int64_t shape = elements;
  written.next_step = steps_per_creation * static_cast<std::int64_t>(written.creations++);
  end(call, couplet_series_create(universe_, action.object.c_str(), COUPLET_UINT64, 1, &shape, &written.first,
                                  &written.stop, &options, &written.series));
}

bool Actor::put_one(Written& written, const Action& action) {
  const auto contents_of = contents(action.object);
  const auto fill = [&](std::uint64_t* data) {
    for (std::int64_t place = written.first; place < written.stop; ++place) {
      const auto life = life_.number + lives_per_creation * (written.creations - 1);
      data[place - written.first] = contents_of.element(life, written.next_step, place);
    }
  };
  std::uint64_t data[elements];
  fill(data);
  for (const Nanoseconds begun = kernel->now(); seconds_since(begun) < action.real("patience", 10);) {
    Call& call = begin("put", action.object, action.real("wait", 2));
    call.number = written.next_step;
    couplet_status status = COUPLET_OK;
    if (action.whole("claim", 0) != 0) {
      void* slot = nullptr;
      status = couplet_series_claim(written.series, written.next_step, &slot);
      if (status == COUPLET_OK) {
        fill(static_cast<std::uint64_t*>(slot));
        kernel->step();  // the process may be killed, or switched away from, before it publishes
        status = couplet_series_publish(written.series);
      }
    } else {
      status = couplet_series_put(written.series, data, written.next_step);
    }
    end(call, status);
    if (status == COUPLET_OK) {
      written.next_step += action.whole("stride", 1);
      return true;
    }
    if (status != COUPLET_FULL && status != COUPLET_ERROR_TIMEOUT && status != COUPLET_ERROR_HUB_LOST) {
      return false;
    }
  }
  return false;
}

void Actor::put(const Action& action) {
  const auto found = written_.find(action.object);
  const bool writes = found != written_.end() && found->second.series != nullptr;
  for (std::int64_t index = 0; writes && index < action.whole("steps", 10); ++index) {
    if (!put_one(found->second, action)) {
      break;
    }
    if (const double pause_s = action.real("pause", 0); pause_s > 0) {
      sleep_s(pause_s);
    }
  }
}

void Actor::open(const Action& action) {
  couplet_series_open_options options;
  couplet_series_open_options_init(&options);
  options.mode = action.text("mode", "hold") == "hold" ? COUPLET_SERIES_HOLD : COUPLET_SERIES_FOLLOW;
  const std::string from = action.text("from", "oldest");
  options.from = from == "newest" ? COUPLET_SERIES_FROM_NEWEST
                 : from == "next" ? COUPLET_SERIES_FROM_NEXT
                                  : COUPLET_SERIES_FROM_OLDEST;
  options.every = static_cast<std::uint64_t>(action.whole("every", 1));
  options.local = static_cast<std::int32_t>(action.whole("local", 0));
  options.timeout_s = action.real("timeout", 10);
  couplet_series* series = nullptr;
  Call& call = begin("open", action.object, options.timeout_s);
  if (end(call, couplet_series_open(universe_, action.object.c_str(), &options, &series)) == COUPLET_OK) {
    opened_[action.object] = series;
  }
}

void Actor::note_batch(Call& call, const couplet_series_batch& batch, const std::string& name) const {
  const auto contents_of = contents(name);
  call.lost = batch.lost;
  for (std::uint64_t index = 0; index < batch.count; ++index) {
    const auto* const data = static_cast<const std::uint64_t*>(batch.data) + index * (batch.step_bytes / 8);
    StepSeen seen{batch.steps[index], batch.ordinals[index], SeriesContents::life_of(data[0]), true};
    for (std::int64_t place = 0; place < elements; ++place) {
      // The ranks of the writer may be in different lives.
      const std::uint64_t life = SeriesContents::life_of(data[place]);
      seen.intact = seen.intact && data[place] == contents_of.element(life, seen.step, place);
    }
    call.steps.push_back(seen);
  }
}

void Actor::read(const Action& action) {
  const auto found = opened_.find(action.object);
  if (found == opened_.end()) {
    return;
  }
  const double timeout_s = action.real("timeout", 1);
  Nanoseconds progress = kernel->now();
  for (std::int64_t index = 0; index < action.whole("reads", 100'000); ++index) {
    couplet_series_batch batch{};
    batch.struct_bytes = sizeof batch;
    Call& call = begin("read", action.object, timeout_s);
    const auto status =
        couplet_series_read(found->second, static_cast<std::uint64_t>(action.whole("at_least", 1)),
                            static_cast<std::uint64_t>(action.whole("up_to", 4)), timeout_s, nullptr, 0, &batch);
    if (status == COUPLET_OK) {
      note_batch(call, batch, action.object);
    }
    end(call, status);
    if (status == COUPLET_OK || status == COUPLET_RESTARTED) {
      progress = kernel->now();
    } else if (status == COUPLET_END ||
               (status < 0 && status != COUPLET_ERROR_PEER_LOST && status != COUPLET_ERROR_MISMATCH)) {
      break;
    } else if (status == COUPLET_ERROR_PEER_LOST) {  // the writer, or the relay, may be started again
      sleep_s(0.1);
    }
    if (seconds_since(progress) > action.real("patience", 12)) {
      break;
    }
    if (const double pause_s = action.real("pause", 0); pause_s > 0) {
      sleep_s(pause_s);
    } else if (status == COUPLET_NOT_YET && timeout_s == 0) {  // this reader only polls
      sleep_s(0.01);
    }
  }
  count(action.object, found->second);
}

void Actor::count(const std::string& name, couplet_series* series) {
  couplet_series_statistics found{};
  found.struct_bytes = sizeof found;
  Call& call = begin("count", name, -1);
  end(call, couplet_series_get_statistics(series, &found));
  call.statistics = {found.published, found.first, found.delivered, found.lost, found.skipped, found.pending};
}

void Actor::close(const Action& action) {
  if (const auto found = opened_.find(action.object); found != opened_.end()) {
    Call& call = begin("close", action.object, -1);
    end(call, couplet_series_close(found->second));
    opened_.erase(found);
  } else if (const auto own = written_.find(action.object); own != written_.end() && own->second.series != nullptr) {
    Call& call = begin("close", action.object, -1);
    end(call, couplet_series_close(std::exchange(own->second.series, nullptr)));
  }
}

// Waits in slices. Returns false if the request has failed, or is still pending when the patience has ended.
bool Actor::wait_for(Flow& flow, const Action& action, const char* verb, couplet_message* message) {
  const double slice_s = action.real("wait", 2);
  for (const Nanoseconds begun = kernel->now(); seconds_since(begun) < action.real("patience", 15);) {
    Call& call = begin(verb, action.object, slice_s);
    call.number = static_cast<std::int64_t>(flow.sequence);
    const auto status = end(call, couplet_wait(&flow.request, slice_s, message));
    if (status == COUPLET_OK && message != nullptr) {
      MessageLabel label;
      const std::uint64_t words = message->bytes / 8;
      call.intact = words != 0 && words <= flow.buffer.size() && label.decode(flow.buffer[0]);
      for (std::uint64_t place = 1; call.intact && place < words; ++place) {
        call.intact = flow.buffer[place] == MessageLabel::follows(plan_.seed, flow.buffer[0], place);
      }
      call.number = static_cast<std::int64_t>(label.sequence);
      call.life = label.life;
    }
    if (status != COUPLET_ERROR_TIMEOUT && status != COUPLET_INTERRUPTED) {
      flow.sequence += status == COUPLET_OK ? 1 : 0;
      return status == COUPLET_OK;
    }
  }
  return false;
}

void Actor::send(const Action& action) {
  std::int32_t peer = 0;
  Flow& flow = flows_[">" + action.object];
  const auto slash = action.object.find('/');
  const auto rank = static_cast<std::int32_t>(std::atoi(action.object.c_str() + slash + 1));
  if (couplet_universe_find_rank(universe_, action.object.substr(0, slash).c_str(), rank, &peer) != COUPLET_OK ||
      (flow.request != nullptr && !wait_for(flow, action, "sent", nullptr))) {
    return;
  }
  const auto words = static_cast<std::uint64_t>(std::max<std::int64_t>(action.whole("bytes", 8) / 8, 1));
  for (std::int64_t index = 0; index < action.whole("count", 1); ++index) {
    const MessageLabel label{0, life_.number, flow.sequence, false};
    flow.buffer.resize(words);
    flow.buffer[0] = label.word();
    for (std::uint64_t place = 1; place < words; ++place) {
      flow.buffer[place] = MessageLabel::follows(plan_.seed, label.word(), place);
    }
    Call& call = begin("isend", action.object, -1);
    call.number = static_cast<std::int64_t>(flow.sequence);
    const auto status =
        end(call, couplet_isend(everybody_, flow.buffer.data(), words, COUPLET_UINT64, peer, 1, &flow.request));
    if (status != COUPLET_OK || !wait_for(flow, action, "sent", nullptr)) {
      return;
    }
    if (const double pause_s = action.real("pause", 0); pause_s > 0) {
      sleep_s(pause_s);
    }
  }
}

void Actor::receive(const Action& action) {
  std::int32_t peer = 0;
  Flow& flow = flows_["<" + action.object];
  const auto slash = action.object.find('/');
  const auto rank = static_cast<std::int32_t>(std::atoi(action.object.c_str() + slash + 1));
  if (couplet_universe_find_rank(universe_, action.object.substr(0, slash).c_str(), rank, &peer) != COUPLET_OK) {
    return;
  }
  flow.buffer.resize(max_message_words);
  for (std::int64_t index = 0; index < action.whole("count", 1); ++index) {
    if (flow.request == nullptr) {
      Call& call = begin("irecv", action.object, -1);
      if (end(call, couplet_irecv(everybody_, flow.buffer.data(), flow.buffer.size(), COUPLET_UINT64, peer, 1,
                                  &flow.request)) != COUPLET_OK) {
        return;
      }
    }
    couplet_message message{};
    if (!wait_for(flow, action, "received", &message)) {
      return;
    }
  }
}

// Makes the group of all ranks of these programs, "left+right".
couplet_group* Actor::group_of(const std::string& programs) {
  std::vector<std::int32_t> ranks;
  for (const Role& role : plan_.roles) {
    std::int32_t rank = 0;
    if (("+" + programs + "+").find("+" + role.program + "+") != std::string::npos &&
        couplet_universe_find_rank(universe_, role.program.c_str(), role.rank, &rank) == COUPLET_OK) {
      ranks.push_back(rank);
    }
  }
  couplet_group* group = nullptr;
  Call& call = begin("group", programs, -1);
  call.number = static_cast<std::int64_t>(ranks.size());
  end(call,
      couplet_group_create(universe_, programs.c_str(), ranks.data(), static_cast<std::int32_t>(ranks.size()), &group));
  return group;
}

// Makes the call of one round: mixed rounds are sums at all members, broadcasts and sums at one member, in turn. A root
// ends its broadcast, and others end their part of a sum, before the others have done theirs. intact: the numbers are
// those of a call of `members` members in the same round.
couplet_status make_round(couplet_group& group, std::uint64_t members, std::uint64_t round, bool is_mixed,
                          const couplet_collective_options& options, bool& intact) {
  const std::uint64_t own[3] = {1, round, round * round};
  std::uint64_t all[3] = {};
  const auto root = static_cast<std::int32_t>(round / 3 % members);
  std::int32_t rank = 0;
  std::int32_t size = 0;
  couplet_group_rank(&group, &rank, &size);
  const bool is_root = rank == root;
  const std::uint64_t kind = is_mixed ? round % 3 : 0;
  std::uint64_t factor = members;
  couplet_status status = COUPLET_OK;
  if (kind == 0) {
    status = couplet_allreduce(&group, own, all, 3, COUPLET_UINT64, COUPLET_OPERATION_SUM, &options);
  } else if (kind == 1) {
    if (is_root) {
      std::copy(std::begin(own), std::end(own), std::begin(all));
    }
    status = couplet_broadcast(&group, all, 3, COUPLET_UINT64, root, &options);
    factor = 1;
  } else {
    status = couplet_reduce(&group, own, all, 3, COUPLET_UINT64, COUPLET_OPERATION_SUM, root, &options);
    factor = is_root ? members : 0;
  }
  intact = status != COUPLET_OK || (all[0] == factor && all[1] == factor * round && all[2] == factor * round * round);
  return status;
}

// Adds numbers that show whether all members are in the same round. After an error, and at the beginning, the members
// first agree on the number of the next round: the greatest of theirs, or with lead=1 that of the first member, which
// may leave as soon as it has said so. If one of them is lost, they make the group again.
void Actor::sum(const Action& action) {
  couplet_collective_options options;
  couplet_collective_options_init(&options);
  options.timeout_s = action.real("timeout", -1);
  const bool is_led = action.whole("lead", 0) != 0;
  couplet_group* group = nullptr;
  bool agreed = false;
  std::uint64_t round = 0;
  std::uint64_t members = 0;
  Nanoseconds progress = kernel->now();
  for (std::int64_t done = 0;
       done < action.whole("rounds", 5) && seconds_since(progress) < action.real("patience", 12);) {
    if (group == nullptr) {
      group = group_of(action.object);
      members = static_cast<std::uint64_t>(life_.calls.back().number);
      if (group == nullptr) {
        return;
      }
    }
    Call& call = begin(agreed ? "sum" : "agree", action.object, options.timeout_s);
    call.number = static_cast<std::int64_t>(round);
    std::uint64_t agreed_round = round;
    const bool is_mixed = action.whole("mixed", 0) != 0;
    const auto status = end(call, agreed   ? make_round(*group, members, round, is_mixed, options, call.intact)
                                  : is_led ? couplet_broadcast(group, &agreed_round, 1, COUPLET_UINT64, 0, &options)
                                           : couplet_allreduce(group, &round, &agreed_round, 1, COUPLET_UINT64,
                                                               COUPLET_OPERATION_MAX, &options));
    if (status == COUPLET_OK) {
      round = agreed ? round + 1 : agreed_round;
      done += agreed || is_led ? 1 : 0;
      agreed = true;
      progress = kernel->now();
    } else {
      ++round;
      agreed = false;
      if (status == COUPLET_ERROR_PEER_LOST) {
        couplet_group_free(group);
        group = nullptr;
        sleep_s(0.1);
      }
    }
    if (const double pause_s = action.real("pause", 0); pause_s > 0) {
      sleep_s(pause_s);
    }
  }
}

bool Actor::carry_out(const Action& action) {
  static const std::map<std::string, void (Actor::*)(const Action&)> verbs = {
      {"create", &Actor::create}, {"put", &Actor::put},   {"open", &Actor::open},       {"read", &Actor::read},
      {"close", &Actor::close},   {"send", &Actor::send}, {"receive", &Actor::receive}, {"sum", &Actor::sum}};
  if (action.verb == "join") {
    return join(action);
  }
  if (action.verb == "idle") {
    sleep_s(action.real("s", 1));
  } else if (action.verb == "leave") {
    Call& call = begin("leave", role_.program, -1);
    end(call, couplet_leave(universe_));
    return false;
  } else if (const auto found = verbs.find(action.verb); found != verbs.end()) {
    (this->*found->second)(action);
  } else {
    tasks_.carry_out(universe_, action);
  }
  return true;
}

void Actor::run() {
  for (const Action& action : role_.script) {
    if (!carry_out(action)) {
      return;
    }
  }
}

}  // namespace

void sleep_s(double seconds) {
  const auto ns = static_cast<Nanoseconds>(seconds * 1e9);
  const timespec duration{static_cast<time_t>(ns / second), static_cast<long>(ns % second)};
  ::nanosleep(&duration, nullptr);
}

Call& begin_call(Life& life, const char* verb, const std::string& object, double timeout_s) {
  Call& call = life.calls.emplace_back();
  call.verb = verb;
  call.object = object;
  call.timeout_s = timeout_s;
  call.begin_ns = kernel->now();
  call.stopped_ns = life.process->stopped_ns;
  return call;
}

int end_call(Life& life, Call& call, int status) {
  call.status = status;
  if (status < 0) {
    call.text = couplet_error_text();
  }
  call.end_ns = kernel->now();
  call.stopped_ns = life.process->stopped_ns - call.stopped_ns;
  return status;
}

void act(const Plan& plan, Life& life) {
  // It is on the heap and never freed, since a process that is killed does not free its memory either.
  auto* const actor = new Actor(plan, life);
  actor->run();
}

}  // namespace world
