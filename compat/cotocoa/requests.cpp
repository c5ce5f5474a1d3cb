// Requests: CoToCoA's integers and data as Couplet's tasks.
#include <fmt/format.h>

#include <algorithm>

#include "session.hpp"

namespace ctca {
namespace {

// The last item of what CTCAC_pollreq gives.
constexpr int info_marker = 0x43545241;

const char* type_name(couplet_type type) {
  return type == COUPLET_INT32 ? "int" : type == COUPLET_FLOAT ? "real4" : type == COUPLET_DOUBLE ? "real8" : "no";
}

std::vector<std::int64_t> widened(const char* function, const Letter& letter) {
  if (letter.parameter_count < 0 || (letter.parameter_count > 0 && letter.parameters == nullptr)) {
    fatal(function, fmt::format("{} integer parameters are not possible", letter.parameter_count));
  }
  return {letter.parameters, letter.parameters + letter.parameter_count};
}

// Says what does not fit, or returns "".
std::string misfit(const couplet_task_info& info, const Letter& wanted) {
  if (info.parameter_count != wanted.parameter_count) {
    return fmt::format("the request has {} integer parameters, and {} are asked for", info.parameter_count,
                       wanted.parameter_count);
  }
  if (info.payload_count != wanted.data_count) {
    return fmt::format("the request comes with {} elements of data, and {} are asked for", info.payload_count,
                       wanted.data_count);
  }
  if (wanted.data_count > 0 && info.type != wanted.type) {
    return fmt::format("the request comes with {} data, and {} is asked for", type_name(info.type),
                       type_name(wanted.type));
  }
  return "";
}

}  // namespace

// ---- requester ----

void Session::send_request(const char* function, const Letter& letter, std::int64_t* handle) {
  const auto parameters = widened(function, letter);
  couplet_task* task = nullptr;
  const couplet_status status =
      couplet_tasks_submit(tasks_, COUPLET_TASKS_ANY_WORKER, parameters.data(), letter.parameter_count, letter.data,
                           letter.data_count, letter.type, patience_s_, handle == nullptr ? nullptr : &task);
  if (status == COUPLET_ERROR_TIMEOUT) {
    fatal(function, fmt::format("the coupler has not taken the request within {} s (does it call CTCAC_pollreq?): {}",
                                patience_s_, couplet_error_text()));
  }
  check(function, status);
  profile_.count_bytes(letter.data_count * couplet_type_bytes(letter.type));
  const std::int64_t request = requests_sent_++;
  if (handle != nullptr) {
    *handle = next_handle_++;
    handles_[*handle] = {task, request};
  }
}

// Finds the request of a handle. Returns nullptr if it is done and the caller was told so, or if no request has this
// handle: programs test handles that they have not got yet.
Session::Handle* Session::find_handle(std::int64_t handle) {
  const auto found = handles_.find(handle);
  return found == handles_.end() ? nullptr : &found->second;
}

void Session::wait(const char* function, std::int64_t handle) {
  Handle* const waited = find_handle(handle);
  if (waited == nullptr) {
    return;
  }
  couplet_status status = couplet_task_wait(&waited->task, patience_s_);
  while (status == COUPLET_ERROR_TIMEOUT) {
    check_polled(function, waited->request);
    status = couplet_task_wait(&waited->task, patience_s_);
  }
  check(function, status);
  handles_.erase(handle);
}

bool Session::test(const char* function, std::int64_t handle) {
  Handle* const tested = find_handle(handle);
  if (tested == nullptr) {
    return true;
  }
  std::int32_t done = 0;
  check(function, couplet_task_test(&tested->task, &done));
  if (done != 0) {
    handles_.erase(handle);
  }
  return done != 0;
}

// ---- checking that the coupler polls ----

// Creates memory of the coupler that requesters read without its help. With it, a coupler that does not poll can be
// told from workers that take their time.
void Session::make_poll_counts(const char* function) {
  const auto extent = static_cast<std::int64_t>(requester().size);
  couplet_area* area = nullptr;
  check(function, couplet_area_create(universe_, "cotocoa-polls", COUPLET_INT64, 1, &extent, nullptr, &area));
  couplet_area_info info{};
  info.struct_bytes = sizeof info;
  check(function, couplet_area_describe(area, &info));
  own_poll_counts_ = static_cast<std::int64_t*>(info.memory);
}

// Ends the program if the couplers have not even polled that request of this rank.
void Session::check_polled(const char* function, std::int64_t request) {
  const auto couplers = ranks_of(Role::coupler);
  std::int64_t polled = 0;
  for (std::size_t index = 0; index < couplers.size(); ++index) {
    if (index == poll_counts_.size()) {
      couplet_area* area = nullptr;
      if (couplet_area_open(universe_, "cotocoa-polls", couplers[index], patience_s_, &area) == COUPLET_ERROR_TIMEOUT) {
        fatal(function, fmt::format("{} has not polled this request, and has made no call for {} s: {}",
                                    describe(couplers[index]), patience_s_, couplet_error_text()));
      }
      poll_counts_.push_back(area);
    }
    std::int64_t count = 0;
    check(function, couplet_area_read(poll_counts_[index], static_cast<std::uint64_t>(program_rank_), 1, &count,
                                      patience_s_, nullptr));
    polled += count;
  }
  if (polled <= request) {
    fatal(function, fmt::format("the coupler has not polled this request within {} s (does it call CTCAC_pollreq?)",
                                patience_s_));
  }
}

// ---- coupler ----

void Session::give_letter(const char* function, const couplet_task_info& info, int* source, const Letter& wanted) {
  if (const std::string text = misfit(info, wanted); !text.empty()) {
    fatal(function, fmt::format("request of {}: {}", describe(info.source), text));
  }
  *source = info.source - requester().first_rank;
  auto* const parameters = const_cast<int*>(wanted.parameters);  // NOLINT: an output of the caller
  std::transform(info.parameters, info.parameters + info.parameter_count, parameters,
                 [](std::int64_t value) { return static_cast<int>(value); });
  const std::size_t bytes = wanted.data_count * couplet_type_bytes(wanted.type);
  if (bytes > 0) {
    std::memcpy(const_cast<void*>(wanted.data), info.payload, bytes);  // NOLINT: likewise
  }
  profile_.count_bytes(bytes);
}

void Session::end_polling(const char* function) {
  finished_ = true;
  if (role() == Role::coupler) {
    await_closing(function, Role::requester);
    say_closing(function, Role::worker);
  } else {
    await_closing(function, Role::coupler);
  }
}

void Session::poll_as_coupler(const char* function, int* info, int* source, const Letter& wanted) {
  *source = -1;
  if (finished_) {
    return;
  }
  couplet_task_info task{};
  task.struct_bytes = sizeof task;
  couplet_status status = couplet_tasks_next(tasks_, nullptr, -1, &task);
  if (status == COUPLET_ERROR_STATE && !in_hand_.empty()) {
    // Everything else is done. These requests were polled and never enqueued, so the coupler has handled them itself.
    for (const std::int64_t id : in_hand_) {
      check(function, couplet_tasks_complete(tasks_, static_cast<std::uint64_t>(id), COUPLET_OK, nullptr));
    }
    in_hand_.clear();
    status = couplet_tasks_next(tasks_, nullptr, -1, &task);
  }
  check(function, status);
  if (status == COUPLET_END) {
    end_polling(function);
    return;
  }
  give_letter(function, task, source, wanted);
  ++own_poll_counts_[*source];
  const auto id = static_cast<std::int64_t>(task.id);
  in_hand_.insert(id);
  info[0] = static_cast<int>(id & INT32_MAX);
  info[1] = static_cast<int>(id >> 31);
  info[2] = *source;
  info[3] = info_marker;
}

std::int64_t Session::task_id(const char* function, const int* info) const {
  const std::int64_t id = static_cast<std::int64_t>(info[1]) << 31 | info[0];
  if (info[3] != info_marker || !in_hand_.contains(id)) {
    fatal(function, "reqinfo is not that of a request which CTCAC_pollreq gave and which was not enqueued before");
  }
  return id;
}

void Session::enqueue(const char* function, const int* info, int worker, const Letter& letter) {
  const std::int64_t id = task_id(function, info);
  const auto parameters = widened(function, letter);
  if (worker < 0) {
    fatal(function, fmt::format("{} is no program id", worker));
  }
  check(function, couplet_tasks_dispatch(tasks_, static_cast<std::uint64_t>(id), worker, parameters.data(),
                                         letter.parameter_count, letter.data, letter.data_count, letter.type));
  in_hand_.erase(id);
  profile_.count_bytes(letter.data_count * couplet_type_bytes(letter.type));
}

// ---- worker ----

void Session::poll_as_worker(const char* function, int* source, const Letter& wanted) {
  *source = -1;
  if (finished_) {
    return;
  }
  couplet_task_expectation expected;
  couplet_task_expectation_init(&expected);
  expected.parameter_count = wanted.parameter_count;
  expected.payload_count = static_cast<std::int64_t>(wanted.data_count);
  expected.type = wanted.data_count > 0 ? wanted.type : -1;
  couplet_task_info task{};
  task.struct_bytes = sizeof task;
  const couplet_status status = couplet_tasks_next(tasks_, &expected, -1, &task);
  check(function, status);
  if (status == COUPLET_END) {
    end_polling(function);
    return;
  }
  give_letter(function, task, source, wanted);
}

void Session::complete(const char* function) {
  check(function, couplet_tasks_complete(tasks_, 0, COUPLET_OK, nullptr));
}

}  // namespace ctca
