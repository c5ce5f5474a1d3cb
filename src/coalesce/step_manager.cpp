#include "coalesce/step_manager.hpp"

#include <new>
#include <utility>

#include "message/courier.hpp"
#include "os/clock.hpp"

namespace couplet::coalesce {

StepManager::StepManager(const Surroundings& around, const message::Group& group, std::string name,
                         const Options& options)
    : communications_(around, group, std::move(name), options),
      messenger_(*around.messenger),
      phase_count_(options.phase_count),
      timeline_(group.rank(), options.max_events) {}

Status StepManager::expect(State wanted, std::string_view what) const {
  if (is_inside_) return fail(Code::state, "{}: {} within a callback of it", communications_.title(), what);
  if (state_ == wanted) return {};
  if (state_ == State::failed) return failure_;
  constexpr const char* states[] = {"not frozen", "frozen", "in the middle of a round", "failed", "closed"};
  return fail(Code::state, "{}: {} while it is {}", communications_.title(), what,
              states[static_cast<std::size_t>(state_)]);
}

// ---- between rounds ----

Result<std::size_t> StepManager::add(std::unique_ptr<Client> client) {
  if (state_ != State::open) COUPLET_TRY(expect(State::frozen, "a client is added"));
  clients_.reserve(clients_.size() + 1);
  stages_.reserve(clients_.size() + 1);
  COUPLET_TRY_VALUE(const std::size_t place,
                    communications_.add_client(std::string(client->name()), client->hears_arrivals()));
  stages_.push_back(client->stages());
  clients_.push_back(std::move(client));
  return place;
}

Status StepManager::remove(std::size_t client) {
  if (state_ != State::open) COUPLET_TRY(expect(State::frozen, "a client is removed"));
  return communications_.remove_client(client);
}

Status StepManager::freeze() {
  COUPLET_TRY(expect(State::open, "it is frozen"));
  if (Status frozen = communications_.freeze(0, 0); !frozen.ok()) return fail_with(std::move(frozen));
  state_ = State::frozen;
  return {};
}

Status StepManager::amend(std::uint64_t from_round) {
  COUPLET_TRY(expect(State::frozen, "it is amended"));
  return communications_.freeze(round_, from_round);
}

// ---- a round ----

Status StepManager::run_round(std::uint64_t deadline_ns) {
  if (state_ != State::waiting || is_inside_) {
    COUPLET_TRY(expect(State::frozen, "a round is run"));
    communications_.begin_round(round_);
    for (const std::size_t client : communications_.client_list().take_given_back()) clients_[client].reset();
    phase_ = 0;
    sync_ = 0;
  }
  for (; phase_ < phase_count_; ++phase_) {
    const std::size_t sync_count = communications_.syncs(phase_).size();
    if (sync_ == 0 && state_ != State::waiting) COUPLET_TRY(fill());
    for (; sync_ < sync_count; ++sync_) {
      if (state_ != State::waiting) COUPLET_TRY(start());
      COUPLET_TRY(wait(deadline_ns));
    }
    COUPLET_TRY(use());
    sync_ = 0;
  }
  return end();
}

Status StepManager::fill() {
  if (Status begun = communications_.begin_fill(phase_); !begun.ok()) return fail_with(std::move(begun));
  for (const std::size_t client : communications_.clients()) {
    if (!stages_[client].fill) continue;
    COUPLET_TRY(call(client, "fill", [&] { return clients_[client]->fill(moment()); }));
  }
  return {};
}

Status StepManager::start() {
  Sync& sync = communications_.syncs(phase_)[sync_];
  if (Status started = communications_.start(sync); !started.ok()) return fail_with(std::move(started));
  for (const std::size_t client : sync.clients) {
    if (!stages_[client].overlap) continue;
    COUPLET_TRY(call(client, "overlap", [&] { return clients_[client]->overlap(moment()); }));
  }
  state_ = State::waiting;
  if (timeline_.is_on()) wait_start_ns_ = os::now_ns();
  return {};
}

Status StepManager::wait(std::uint64_t deadline_ns) {
  Sync& sync = communications_.syncs(phase_)[sync_];
  bool is_over = false;
  while (!is_over) {
    Status waited = communications_.wait_next(phase_, sync, deadline_ns, arrived_, is_over);
    if (waited.code() == Code::timeout || waited.code() == Code::interrupted) return waited;
    if (!waited.ok()) return fail_with(std::move(waited));
    for (const Wave::Receiver* const one : arrived_) {
      if (!clients_[one->client]->hears_arrivals()) continue;
      COUPLET_TRY(call(one->client, "arrived", [&] { return clients_[one->client]->arrived(moment(one->peer)); }));
    }
  }
  state_ = State::frozen;
  if (timeline_.is_on()) timeline_.add("wait", 0, round_, phase_, wait_start_ns_, os::now_ns());
  return {};
}

Status StepManager::use() {
  for (const std::size_t client : communications_.clients()) {
    if (!stages_[client].use) continue;
    COUPLET_TRY(call(client, "use", [&] { return clients_[client]->use(moment()); }));
  }
  return {};
}

Status StepManager::end() {
  for (const std::size_t client : communications_.clients()) {
    if (!stages_[client].end_round) continue;
    COUPLET_TRY(call(client, "end_round", [&] { return clients_[client]->end_round(round_); }));
  }
  ++round_;
  return {};
}

template <typename Body>
Status StepManager::call(std::size_t client, std::string_view stage, const Body& body) {
  Status done;
  const std::uint64_t start_ns = timeline_.is_on() ? os::now_ns() : 0;
  is_inside_ = true;
  try {
    done = body();
  } catch (const std::bad_alloc&) {
    done = Code::memory;
  } catch (const std::exception& thrown) {
    done = fail(Code::state, "exception: {}", thrown.what());
  } catch (...) {
    done = fail(Code::state, "an exception that is no std::exception");
  }
  is_inside_ = false;
  if (timeline_.is_on()) {
    const std::uint64_t stop_ns = os::now_ns();
    communications_.client_list().counts_of(client).calls_ns += stop_ns - start_ns;
    timeline_.add(stage, client + 1, round_, phase_, start_ns, stop_ns);
  }
  return done.ok() ? done : callback_failed(client, stage, done);
}

// The text is that of all ranks, so it says at which rank it was.
Status StepManager::callback_failed(std::size_t client, std::string_view stage, const Status& why) {
  const std::int32_t rank = communications_.group().rank();
  const std::string name = message::Courier(messenger_).name(communications_.group().peer(rank));
  // A timeout would say that the round goes on.
  const bool keeps_code = why.error() && why.code() != Code::timeout;
  return fail_with(fail(keeps_code ? why.code() : Code::state,
                        "{}: client '{}' has failed in {} of phase {}, round {}, at rank {} ({}): {}",
                        communications_.title(), clients_[client]->name(), stage, phase_, round_, rank, name,
                        why.text()));
}

Status StepManager::fail_with(Status why) {
  communications_.give_up(why);
  state_ = State::failed;
  failure_ = std::move(why);
  return failure_;
}

// ---- the end ----

std::string StepManager::timeline() const {
  std::vector<std::string> names;
  names.reserve(clients_.size());
  for (const auto& client : clients_) names.emplace_back(client == nullptr ? "(removed)" : client->name());
  return timeline_.json(names);
}

Status StepManager::close() {
  if (state_ == State::closed) return {};
  if (is_inside_) return expect(State::frozen, "it is closed");
  const bool is_waiting = state_ == State::waiting;
  state_ = State::closed;
  Status closed = communications_.close();
  return is_waiting && closed.ok()
             ? fail(Code::state, "{} is closed in the middle of round {}", communications_.title(), round_)
             : closed;
}

}  // namespace couplet::coalesce
