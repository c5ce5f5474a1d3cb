#include "session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <numeric>

#include "waitio_mpi.h"

namespace waitio {
namespace {

constexpr int request_magic = 0x57494f52;
constexpr const char* group_name = "waitio";

enum Word : int { word_magic = 0, word_slot, word_generation };

bool all_zero(const waitio_req_t& request) {
  return std::all_of(std::begin(request.words), std::end(request.words), [](int word) { return word == 0; });
}

bool finalized = false;  // NOLINT: the interface allows one instance per process
bool failed = false;     // NOLINT: it could not be started

}  // namespace

// ---- groups ----

waitio_group_t Session::make_group(const std::vector<std::int32_t>& ranks) {
  auto& entry = groups_[ranks];
  if (!entry) {
    auto made = std::make_unique<waitio_group_>();
    const couplet_status status = couplet_group_create(meeting_.universe(), group_name, ranks.data(),
                                                       static_cast<std::int32_t>(ranks.size()), &made->group);
    if (status != COUPLET_OK) {
      groups_.erase(ranks);
      check(status);
    }
    check(couplet_group_rank(made->group, &made->rank, &made->size));
    numbered_.push_back(made.get());
    made->number = static_cast<int>(numbered_.size());
    entry = std::move(made);
  }
  return entry.get();
}

waitio_group_t Session::make_universe() {
  std::vector<std::int32_t> ranks;
  for (const auto& block : meeting_.blocks()) {
    const std::size_t before = ranks.size();
    ranks.resize(before + static_cast<std::size_t>(block.size));
    std::iota(ranks.begin() + static_cast<std::ptrdiff_t>(before), ranks.end(), block.first_rank);
  }
  return make_group(ranks);
}

waitio_group_t Session::make_heads() {
  std::vector<std::int32_t> ranks;
  for (const auto& block : meeting_.blocks()) {
    ranks.push_back(block.first_rank);
  }
  return make_group(ranks);
}

waitio_group_t Session::make_block(int block) {
  if (block < 0 || block >= block_count()) {
    throw Error(fmt::format("there is no PB {}; there are 0 to {}", block, block_count() - 1));
  }
  const Block& chosen = meeting_.blocks()[static_cast<std::size_t>(block)];
  std::vector<std::int32_t> ranks(static_cast<std::size_t>(chosen.size));
  std::iota(ranks.begin(), ranks.end(), chosen.first_rank);
  return make_group(ranks);
}

waitio_group_& Session::group(waitio_group_t handle) const {
  if (std::find(numbered_.begin(), numbered_.end(), handle) == numbered_.end()) {
    throw Error(handle == nullptr ? "the group is NULL" : "the group is none that this process has made");
  }
  return *handle;
}

waitio_group_t Session::numbered(int number) const {
  if (number < 1 || number > static_cast<int>(numbered_.size())) {
    throw Error(fmt::format("{} is no communicator; WAITIO_CREATE_UNIVERSE gives one", number));
  }
  return numbered_[static_cast<std::size_t>(number) - 1];
}

// ---- requests ----

void Session::keep(couplet_request* request, bool receives, waitio_req_t* into) {
  if (free_slots_.empty()) {
    free_slots_.push_back(static_cast<std::uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  const std::uint32_t index = free_slots_.back();
  free_slots_.pop_back();
  Slot& slot = slots_[index];
  slot.request = request;
  slot.used = true;
  slot.receives = receives;
  *into = {};
  into->words[word_magic] = request_magic;
  into->words[word_slot] = static_cast<int>(index);
  into->words[word_generation] = static_cast<int>(slot.generation);
}

// Takes the request out of its entry, and makes it a request of zeros. Throws Error if it is none, or a copy of one
// that is complete.
Session::Slot Session::take(waitio_req_t& request) {
  const waitio_req_t given = request;
  request = {};
  if (all_zero(given)) {
    return {};
  }
  const auto index = static_cast<std::uint32_t>(given.words[word_slot]);
  if (given.words[word_magic] != request_magic || index >= slots_.size()) {
    throw Error("this is no request: it was not given to an isend or irecv");
  }
  Slot& slot = slots_[index];
  if (!slot.used || slot.generation != static_cast<std::uint32_t>(given.words[word_generation])) {
    throw Error("this request is complete: a copy of it was waited for");
  }
  const Slot taken = slot;
  slot.used = false;
  slot.request = nullptr;
  ++slot.generation;
  free_slots_.push_back(index);
  return taken;
}

void Session::wait(waitio_req_t& request) {
  Slot slot = take(request);
  check(couplet_wait(&slot.request, -1, nullptr));
}

void Session::wait_all(int count, waitio_req_t* requests, int* statuses) {
  const auto size = static_cast<std::size_t>(count);
  std::vector<couplet_request*> pending(size, nullptr);
  std::vector<bool> receives(size, false);
  std::vector<int> refused(size, 0);
  std::vector<couplet_status> results(size, COUPLET_OK);
  std::vector<couplet_message> messages(size);
  std::string failure;
  int code = 0;
  for (std::size_t index = 0; index < size; ++index) {
    try {
      const Slot slot = take(requests[index]);
      pending[index] = slot.request;
      receives[index] = slot.receives && slot.request != nullptr;
    } catch (const Error& error) {
      failure = failure.empty() ? error.what() : failure;
      code = error.code();
      refused[index] = code;
    }
  }
  const couplet_status status = couplet_waitall(count, pending.data(), -1, results.data(), messages.data());
  if (status != COUPLET_OK && failure.empty()) {
    failure = couplet_error_text();
    code = std::abs(status);
  }
  for (std::size_t index = 0; statuses != nullptr && index < size; ++index) {
    int* const entry = statuses + index * WAITIO_MPI_STATUS_SIZE;
    const bool received = receives[index] && results[index] == COUPLET_OK;
    entry[0] = received ? messages[index].source : -1;
    entry[1] = received ? messages[index].tag : -1;
    entry[2] = results[index] != COUPLET_OK ? std::abs(results[index]) : refused[index];
    entry[3] = received ? static_cast<int>(std::min<std::uint64_t>(messages[index].bytes, INT_MAX)) : 0;
  }
  if (!failure.empty()) {
    throw Error(failure, code);
  }
}

// ---- the session of this process ----

std::unique_ptr<Session>& current_session() noexcept {
  static std::unique_ptr<Session> session;
  return session;
}

Session& require_session() {
  if (!current_session()) {
    const char* const unstarted = failed ? "waitio_init has failed before" : "waitio_init has to be called before";
    throw Error(finalized ? "waitio_finalize was called before" : unstarted);
  }
  return *current_session();
}

Session& start_session() {
  if (finalized) {
    throw Error("waitio_finalize was called before, and a program joins once");
  }
  if (failed) {
    throw Error("waitio_init has failed before, and a program joins once", error_other);
  }
  if (!current_session()) {
    failed = true;
    current_session() = std::make_unique<Session>();
    failed = false;
  }
  return *current_session();
}

void end_session(const char* function) {
  Session& session = require_session();
  finalized = true;
  const std::unique_ptr<Session> ending = std::move(current_session());
  session.finalize(function);
}

}  // namespace waitio
