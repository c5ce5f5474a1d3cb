#include "buffer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "ctca.h"
#include "session.hpp"

namespace ctca {
namespace {

constexpr couplet_type any_type = -1;

const char* type_name(couplet_type type) {
  return type == COUPLET_INT32 ? "int" : type == COUPLET_FLOAT ? "real4" : "real8";
}

Method method_of(const char* function, int number) {
  if (number != CTCA_BUFFER_WAIT_ && number != CTCA_BUFFER_OVERWRITE_) {
    fatal(function, fmt::format("method {}: there are 1 (wait) and 2 (overwrite)", number));
  }
  return static_cast<Method>(number);
}

// It is an error if a program opens the buffer with another type than the requester's.
void check_types(Session& session, const char* function, const BufferOffer& offer,
                 const std::vector<std::int32_t>& types) {
  for (const auto& program : session.programs()) {
    for (int rank = program.first_rank; rank < program.first_rank + program.size; ++rank) {
      const auto type = types[static_cast<std::size_t>(rank)];
      if (type != any_type && type != offer.type) {
        fatal(function, fmt::format("the buffer is of {}, and program '{}' opens it as {}", type_name(offer.type),
                                    program.name, type_name(type)));
      }
    }
  }
}

// Returns when all ranks of all roles have called it.
void meet(Session& session, const char* function) {
  session.collect(function, Together::make_buffer, 0);
  session.spread(function, 0);
}

// Makes a group of the universe from this worker's group (CTCA_subcomm), which has so many ranks. Not collective.
couplet_group* make_worker_group(const Session& session, const char* function, const std::string& purpose, int size) {
  const int first = session.program_rank() / size * size;
  std::vector<std::int32_t> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), session.own_program().first_rank + first);
  couplet_group* group = nullptr;
  const std::string name = fmt::format("{}-{}-{}", purpose, session.own_program().name, first);
  check(function, couplet_group_create(session.universe(), name.c_str(), ranks.data(), size, &group));
  return group;
}

void refuse_second(const Session& session, const char* function) {
  if (session.buffer) {
    fatal(function, "there is a buffer already; buffer_free ends it");
  }
}

}  // namespace

std::string Buffer::name() const {
  return fmt::format("cotocoa-buffer-{}", offer_.number);
}

void Buffer::check_type(const char* function, couplet_type type) const {
  if (type != any_type && type != offer_.type) {
    fatal(function, fmt::format("the buffer is of {}, not of {}", type_name(offer_.type), type_name(type)));
  }
}

// Sets this rank's box from its bounds, or from its place in the grid of processes, last dimension fastest.
void Buffer::place(const char* function, const BufferShape& shape, int rank, int size) {
  const auto count = static_cast<std::size_t>(offer_.dimensions);
  start_.assign(count, 0);
  stop_.assign(count, 0);
  std::int64_t processes = 1;
  for (std::size_t each = count; each-- > 0;) {
    if (shape.grid == nullptr) {
      start_[each] = shape.start[each];
      stop_[each] = shape.stop[each];
    } else if (shape.grid[each] < 1 || shape.total[each] < shape.grid[each]) {
      fatal(function,
            fmt::format("{} processes for {} elements in dimension {}", shape.grid[each], shape.total[each], each));
    } else {
      const std::int64_t at = rank / processes % shape.grid[each];
      start_[each] = at * shape.total[each] / shape.grid[each];
      stop_[each] = (at + 1) * shape.total[each] / shape.grid[each];
      processes *= shape.grid[each];
    }
    if (start_[each] < 0 || stop_[each] < start_[each]) {
      fatal(function, fmt::format("from {} to {} in dimension {} is no range", start_[each], stop_[each], each));
    }
  }
  if (shape.grid != nullptr && processes != size) {
    fatal(function, fmt::format("a grid of {} processes, and there are {}", processes, size));
  }
}

void Buffer::open_as_requester(Session& session, const char* function, int gigabytes, couplet_type type,
                               const BufferShape& shape, Method method, const void* array) {
  refuse_second(session, function);
  if (gigabytes < 1 || shape.dimensions < 1 || shape.dimensions > COUPLET_MAX_DIMENSIONS) {
    fatal(function, fmt::format("a buffer of {} GB with {} dimensions; it takes at least 1, and 1 to {}", gigabytes,
                                shape.dimensions, COUPLET_MAX_DIMENSIONS));
  }
  auto made = std::make_unique<Buffer>();
  made->offer_.type = type;
  made->offer_.dimensions = shape.dimensions;
  made->offer_.method = static_cast<std::int32_t>(method);
  made->offer_.number = session.buffers_made++;
  made->array_ = array;
  made->place(function, shape, session.program_rank(), session.requester().size);
  std::copy(made->stop_.begin(), made->stop_.end(), made->offer_.shape.begin());
  check_mpi(function, MPI_Allreduce(MPI_IN_PLACE, made->offer_.shape.data(), COUPLET_MAX_DIMENSIONS, MPI_INT64_T,
                                    MPI_MAX, session.program_comm()));
  session.spread(function, made->offer_);
  const auto types = session.collect(function, Together::make_buffer, type);
  if (session.root()) {
    check_types(session, function, made->offer_, types);
  }
  session.spread(function, 0);
  couplet_series_create_options options;
  couplet_series_create_options_init(&options);
  options.memory_bytes = static_cast<std::uint64_t>(gigabytes) << 30;
  check(function, couplet_series_create(session.universe(), made->name().c_str(), type, shape.dimensions,
                                        made->offer_.shape.data(), made->start_.data(), made->stop_.data(), &options,
                                        &made->series_));
  meet(session, function);
  session.buffer = std::move(made);
}

void Buffer::open_as_coupler(Session& session, const char* function, couplet_type type) {
  refuse_second(session, function);
  auto made = std::make_unique<Buffer>();
  made->offer_ = session.spread(function, BufferOffer());
  session.collect(function, Together::make_buffer, type);
  session.spread(function, 0);
  meet(session, function);
  session.buffer = std::move(made);
}

void Buffer::open_as_worker(Session& session, const char* function, couplet_type type, const BufferShape& shape,
                            Method method, std::int64_t max_steps, void* array) {
  refuse_second(session, function);
  auto made = std::make_unique<Buffer>();
  made->offer_ = session.spread(function, BufferOffer());
  const auto chosen = made->offer_.method == 0 ? method : static_cast<Method>(made->offer_.method);
  if (chosen == Method::unknown) {
    fatal(function, "neither the requester nor this worker has said whether the requester waits or overwrites");
  }
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(CTCA_subcomm, &rank);
  MPI_Comm_size(CTCA_subcomm, &size);
  made->place(function, shape, rank, size);
  session.collect(function, Together::make_buffer, type);
  session.spread(function, 0);
  made->steps_left_ = max_steps;
  made->target_ = array;
  made->group_ = make_worker_group(session, function, made->name(), size);
  couplet_series_open_options options;
  couplet_series_open_options_init(&options);
  options.start = made->start_.data();
  options.stop = made->stop_.data();
  options.dimensions = made->offer_.dimensions;
  options.mode = chosen == Method::wait ? COUPLET_SERIES_HOLD : COUPLET_SERIES_FOLLOW;
  options.torn = chosen == Method::wait ? 0 : 1;
  options.group = made->group_;
  options.type = made->offer_.type;
  options.timeout_s = session.patience_s();
  check(function, couplet_series_open(session.universe(), made->name().c_str(), &options, &made->series_));
  couplet_series_info info{};
  info.struct_bytes = sizeof info;
  check(function, couplet_series_describe(made->series_, &info));
  made->step_bytes_ = info.step_bytes;
  made->slots_ = info.slots;
  meet(session, function);
  session.buffer = std::move(made);
}

void Buffer::load(const char* function, couplet_type type, const void* data) {
  check_type(function, type);
  if (series_ == nullptr) {
    fatal(function, "the buffer is over: CTCAR_buffer_over was called");
  }
  check(function, couplet_series_put(series_, data, loaded_));
  ++loaded_;
}

void Buffer::load_untyped(const char* function, const void* data) {
  const void* const source = data != nullptr ? data : array_;
  if (source == nullptr) {
    fatal(function, "no array was given, neither here nor to the init of the buffer");
  }
  load(function, offer_.type, source);
}

void Buffer::over(const char* function) {
  close(function);
}

// Waits for a step, and takes all that are there. Returns false at the end of the series.
bool Buffer::fetch(const char* function) {
  const std::uint64_t wanted = steps_left_ < 0 ? slots_ : std::min(slots_, static_cast<std::uint64_t>(steps_left_));
  couplet_series_batch batch{};
  batch.struct_bytes = sizeof batch;
  const couplet_status status = couplet_series_read(series_, 1, wanted, -1, nullptr, 0, &batch);
  check(function, status);
  if (status == COUPLET_END) {
    return false;
  }
  if (status != COUPLET_OK) {
    fatal(function, fmt::format("the buffer answers {}", couplet_status_name(status)));
  }
  backlog_ = {static_cast<const std::byte*>(batch.data), batch.steps, batch.torn, batch.count, 0};
  return true;
}

int Buffer::read(Session& session, const char* function, couplet_type type, void* data) {
  check_type(function, type);
  if (steps_left_ == 0) {
    close(function);
  }
  if (series_ == nullptr || (backlog_.next == backlog_.count && !fetch(function))) {
    return 2;
  }
  const std::uint64_t current = backlog_.next++;
  last_.address = backlog_.data + current * step_bytes_;
  void* const target = data != nullptr ? data : target_;
  if (target != nullptr && step_bytes_ > 0) {
    std::memcpy(target, last_.address, step_bytes_);
    last_.address = target;
  }
  last_.step = static_cast<int>(backlog_.steps[current]);
  last_.torn = backlog_.torn != nullptr && backlog_.torn[current] != 0;
  steps_left_ -= steps_left_ > 0 ? 1 : 0;
  session.profile().count_bytes(step_bytes_);
  if (steps_left_ == 0) {  // the requester must not wait until the worker has read once more to be told the end
    if (step_bytes_ > 0 && last_.address != target) {
      const auto* const step = static_cast<const std::byte*>(last_.address);
      last_.copy.assign(step, step + step_bytes_);
      last_.address = last_.copy.data();
    }
    close(function);
  }
  return 1;
}

void Buffer::close(const char* function) {
  if (series_ != nullptr) {
    check(function, couplet_series_close(series_));
    series_ = nullptr;
  }
  if (group_ != nullptr) {
    check(function, couplet_group_free(group_));
    group_ = nullptr;
  }
}

namespace {

// Returns the buffer of this process. If there is none, it is a fatal error.
Buffer& buffer_of(Session& session, const char* function) {
  if (!session.buffer) {
    fatal(function, "there is no buffer: its init was not called, or it was freed");
  }
  return *session.buffer;
}

int free_buffer(const char* function, Role role) {
  return enter(function, role, Cost::buffer, [&](Session& session) {
    buffer_of(session, function).close(function);
    session.buffer.reset();
  });
}

int open_worker_grid(const char* function, couplet_type type, const int* grid, const int* total, void* array) {
  return enter(function, Role::worker, Cost::buffer, [&](Session& session) {
    Buffer::open_as_worker(session, function, type, {0, nullptr, nullptr, grid, total}, Method::unknown, -1, array);
  });
}

int open_requester_grid(const char* function, couplet_type type, int gigabytes, int dimensions, const int* grid,
                        const int* total, int policy, const void* array) {
  return enter(function, Role::requester, Cost::buffer, [&](Session& session) {
    Buffer::open_as_requester(session, function, gigabytes, type, {dimensions, nullptr, nullptr, grid, total},
                              method_of(function, policy), array);
  });
}

int read_step(const char* function, couplet_type type, void* data) {
  return enter(function, Role::worker, Cost::buffer,
               [&](Session& session) { return buffer_of(session, function).read(session, function, type, data); });
}

int last_step(const char* function) {
  return enter(function, Role::worker, Cost::none,
               [&](Session& session) { return buffer_of(session, function).step(); });
}

int last_torn(const char* function) {
  return enter(function, Role::worker, Cost::none,
               [&](Session& session) { return buffer_of(session, function).torn() ? 1 : 0; });
}

}  // namespace
}  // namespace ctca

using namespace ctca;

#define CTCA_FUNCTIONS_(T, element, code)                                                                            \
  int CTCAR_buffer_init_boxes_##T(int bufsize_GB, int ndim, int* start, int* end) {                                  \
    return enter(__func__, Role::requester, Cost::buffer, [&](Session& session) {                                    \
      Buffer::open_as_requester(session, "CTCAR_buffer_init_" #T, bufsize_GB, code, {ndim, start, end},              \
                                Method::unknown, nullptr);                                                           \
    });                                                                                                              \
  }                                                                                                                  \
  int CTCAR_buffer_init_grid_##T(int bufsize_GB, int ndim, void* array, int* grid, int* total_size) {                \
    return open_requester_grid("CTCAR_buffer_init_" #T, code, bufsize_GB, ndim, grid, total_size, CTCA_BUFFER_WAIT_, \
                               array);                                                                               \
  }                                                                                                                  \
  int CTCAR_buffer_init_policy_##T(int bufsize_GB, int ndim, void* array, int* grid, int* total_size, int policy) {  \
    return open_requester_grid("CTCAR_buffer_init_" #T, code, bufsize_GB, ndim, grid, total_size, policy, array);    \
  }                                                                                                                  \
  int CTCAC_buffer_init_##T(void) {                                                                                  \
    return enter(__func__, Role::coupler, Cost::buffer,                                                              \
                 [&](Session& session) { Buffer::open_as_coupler(session, "CTCAC_buffer_init_" #T, code); });        \
  }                                                                                                                  \
  int CTCAW_buffer_init_boxes_##T(int nsteps, int* start, int* end, int method) {                                    \
    return enter(__func__, Role::worker, Cost::buffer, [&](Session& session) {                                       \
      if (nsteps < 1) {                                                                                              \
        fatal("CTCAW_buffer_init_" #T, fmt::format("nsteps must be at least 1, not {}", nsteps));                    \
      }                                                                                                              \
      Buffer::open_as_worker(session, "CTCAW_buffer_init_" #T, code, {0, start, end},                                \
                             method_of("CTCAW_buffer_init_" #T, method), nsteps, nullptr);                           \
    });                                                                                                              \
  }                                                                                                                  \
  int CTCAW_buffer_init_grid_##T(int* grid, int* total_size) {                                                       \
    return open_worker_grid("CTCAW_buffer_init_" #T, code, grid, total_size, nullptr);                               \
  }                                                                                                                  \
  int CTCAW_buffer_init_array_##T(int* grid, int* total_size, void* array) {                                         \
    return open_worker_grid("CTCAW_buffer_init_" #T, code, grid, total_size, array);                                 \
  }                                                                                                                  \
  int CTCAR_buffer_load_data_##T(element* data) {                                                                    \
    return enter(__func__, Role::requester, Cost::buffer, [&](Session& session) {                                    \
      buffer_of(session, "CTCAR_buffer_load_data_" #T).load("CTCAR_buffer_load_data_" #T, code, data);               \
    });                                                                                                              \
  }                                                                                                                  \
  int CTCAW_buffer_read_data_##T(element* data) { return read_step("CTCAW_buffer_read_data_" #T, code, data); }      \
  int CTCAW_buffer_get_data_##T(element* data) { return read_step("CTCAW_buffer_get_data_" #T, code, data); }        \
  int CTCAW_get_data_##T(element* data) { return read_step("CTCAW_get_data_" #T, code, data); }
CTCA_FOR_EACH_TYPE_(CTCA_FUNCTIONS_)

int CTCAC_buffer_init(void) {
  return enter(__func__, Role::coupler, Cost::buffer,
               [](Session& session) { Buffer::open_as_coupler(session, "CTCAC_buffer_init", any_type); });
}

int CTCAW_buffer_init_grid(int* grid, int* total_size) {
  return open_worker_grid("CTCAW_buffer_init", any_type, grid, total_size, nullptr);
}

int CTCAW_buffer_init_array(int* grid, int* total_size, void* array) {
  return open_worker_grid("CTCAW_buffer_init", any_type, grid, total_size, array);
}

int CTCAR_buffer_load_from(const void* data) {
  return enter(__func__, Role::requester, Cost::buffer, [&](Session& session) {
    buffer_of(session, "CTCAR_buffer_load_data").load_untyped("CTCAR_buffer_load_data", data);
  });
}

int CTCAW_buffer_read_to(void* data) {
  return read_step("CTCAW_buffer_read_data", any_type, data);
}

void* CTCAW_buffer_step_address(void) {
  void* address = nullptr;
  enter(__func__, Role::worker, Cost::none, [&](Session& session) {
    address = const_cast<void*>(buffer_of(session, "CTCAW_buffer_get_address").address());  // NOLINT: the interface's
  });
  return address;
}

int CTCAW_buffer_get_timestep(void) {
  return last_step("CTCAW_buffer_get_timestep");
}

int CTCAW_buffer_get_overwriting_flag(void) {
  return last_torn("CTCAW_buffer_get_overwriting_flag");
}

int CTCAW_get_timestep(void) {
  return last_step("CTCAW_get_timestep");
}

int CTCAW_get_overwrite_flag(void) {
  return last_torn("CTCAW_get_overwrite_flag");
}

int CTCAR_buffer_over(void) {
  return enter(__func__, Role::requester, Cost::buffer,
               [](Session& session) { buffer_of(session, "CTCAR_buffer_over").over("CTCAR_buffer_over"); });
}

int CTCAR_buffer_free(void) {
  return free_buffer("CTCAR_buffer_free", Role::requester);
}

int CTCAC_buffer_free(void) {
  return free_buffer("CTCAC_buffer_free", Role::coupler);
}

int CTCAW_buffer_free(void) {
  return free_buffer("CTCAW_buffer_free", Role::worker);
}
