#include "capi/exchange.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "capi/call.hpp"
#include "capi/options.hpp"
#include "capi/regions.hpp"

namespace {

using couplet::Code;
using couplet::fail;
using couplet::Result;
using couplet::Status;
using couplet::capi::Array;
using couplet::capi::box_region;
using couplet::capi::BoxArguments;
using couplet::capi::list_region;
using couplet::capi::reading;
using couplet::capi::writing;
using couplet::exchange::Direction;
using couplet::exchange::Edge;
using couplet::exchange::Region;
namespace capi = couplet::capi;

// Adds a region, which `make` gives, to an edge.
template <typename Make>
couplet_status add(couplet_exchange* exchange, const couplet_exchange_edge* given, Direction direction,
                   std::uint32_t* number, const char* function, const Make& make) {
  return capi::call(exchange, function, [&]() -> Status {
    COUPLET_TRY(capi::given(given, function, "edge"));
    COUPLET_TRY_VALUE(const auto terms, capi::complete(given, couplet_exchange_edge_init, function));
    if (terms.is_variable != 0 && terms.is_variable != 1) {
      return fail(Code::argument, "{}: is_variable must be 0 or 1, not {}", function, terms.is_variable);
    }
    COUPLET_TRY_VALUE(Region region, make());
    Edge edge;
    edge.direction = direction;
    edge.peer = terms.peer;
    edge.tag = terms.tag;
    edge.is_variable = terms.is_variable != 0;
    edge.every = terms.every;
    edge.offset = terms.offset;
    if (terms.title != nullptr) edge.title = terms.title;
    edge.regions.push_back(std::move(region));
    COUPLET_TRY_VALUE(const std::uint32_t added, exchange->exchange->add(std::move(edge)));
    if (number != nullptr) *number = added;
    return {};
  });
}

couplet_status add_box(couplet_exchange* exchange, const couplet_exchange_edge* edge, Direction direction,
                       const Array& array, const BoxArguments& box, std::uint32_t* number, const char* function) {
  return add(exchange, edge, direction, number, function, [&] { return box_region(array, box, function); });
}

couplet_status add_list(couplet_exchange* exchange, const couplet_exchange_edge* edge, Direction direction,
                        const Array& array, std::uint64_t block, std::span<const std::int64_t> indices,
                        std::uint32_t* number, const char* function) {
  return add(exchange, edge, direction, number, function, [&]() -> Result<Region> {
    if (!indices.empty()) COUPLET_TRY(capi::given(indices.data(), function, "indices"));
    return list_region(array, block, indices, function);
  });
}

Status check_name(const couplet_universe& universe, const couplet_group& group, const char* name,
                  const char* function) {
  for (const auto& one : universe.exchanges) {
    if (one->group_hash == group.group->hash() && one->exchange->name() == name) {
      return fail(Code::exists, "{}: this rank has an open exchange or halo '{}' in group '{}'", function, name,
                  group.group->name());
    }
  }
  return {};
}

}  // namespace

couplet::Result<couplet_exchange*> capi::make_exchange(couplet_group& group, const char* name, const char* kind,
                                                       const char* method, double timeout_s, const char* function) {
  COUPLET_TRY(capi::given(name, function, "name"));
  COUPLET_TRY(capi::check_timeout(timeout_s, function));
  couplet_universe& universe = *group.owner;
  COUPLET_TRY(check_name(universe, group, name, function));
  couplet::exchange::ExchangeOptions wanted;
  wanted.timeout_s = timeout_s;
  wanted.title = fmt::format("{} '{}'", kind, name);
  if (method != nullptr) wanted.method = method;
  auto handle = std::make_unique<couplet_exchange>();
  handle->owner = &universe;
  handle->group_hash = group.group->hash();
  if (universe.methods == nullptr) {
    universe.methods = couplet::runtime::make_exchange_methods(*universe.universe);
  }
  const auto makers = universe.methods->all(universe.makers);
  COUPLET_TRY_VALUE(handle->exchange, universe.universe->create_exchange(*group.group, name, wanted, makers));
  universe.exchanges.push_back(std::move(handle));
  return universe.exchanges.back().get();
}

// Messages may still refer to the memory of an exchange that has failed: then it is kept until the universe was left.
Status couplet_exchange::close() {
  Status closed = exchange->close();
  if (!exchange->is_idle()) owner->ended_exchanges.push_back(std::move(exchange));
  return closed;
}

extern "C" {

void couplet_exchange_options_init(couplet_exchange_options* options) {
  *options = couplet_exchange_options{};
  options->struct_bytes = sizeof *options;
  options->method = "auto";
  options->timeout_s = 60;
}

void couplet_exchange_edge_init(couplet_exchange_edge* edge) {
  *edge = couplet_exchange_edge{};
  edge->struct_bytes = sizeof *edge;
  edge->every = 1;
  edge->peer = -1;
}

couplet_status couplet_exchange_create(couplet_group* group, const char* name, const couplet_exchange_options* options,
                                       couplet_exchange** exchange) {
  constexpr auto function = "couplet_exchange_create";
  return capi::call(group, function, [&]() -> Status {
    COUPLET_TRY(capi::given(exchange, function, "exchange"));
    COUPLET_TRY_VALUE(const auto wanted, capi::complete(options, couplet_exchange_options_init, function));
    COUPLET_TRY_VALUE(*exchange,
                      capi::make_exchange(*group, name, "exchange", wanted.method, wanted.timeout_s, function));
    return {};
  });
}

couplet_status couplet_exchange_send_box(couplet_exchange* exchange, const couplet_exchange_edge* edge,
                                         const void* data, couplet_type type, int32_t dimensions, const int64_t* shape,
                                         const int64_t* stride_bytes, const int64_t* start, const int64_t* stop,
                                         uint32_t* number) {
  return add_box(exchange, edge, Direction::out, reading(data, type), {dimensions, shape, stride_bytes, start, stop},
                 number, "couplet_exchange_send_box");
}

couplet_status couplet_exchange_receive_box(couplet_exchange* exchange, const couplet_exchange_edge* edge, void* data,
                                            couplet_type type, int32_t dimensions, const int64_t* shape,
                                            const int64_t* stride_bytes, const int64_t* start, const int64_t* stop,
                                            uint32_t* number) {
  return add_box(exchange, edge, Direction::in, writing(data, type), {dimensions, shape, stride_bytes, start, stop},
                 number, "couplet_exchange_receive_box");
}

couplet_status couplet_exchange_send_list(couplet_exchange* exchange, const couplet_exchange_edge* edge,
                                          const void* data, couplet_type type, uint64_t block, const int64_t* indices,
                                          uint64_t index_count, uint32_t* number) {
  return add_list(exchange, edge, Direction::out, reading(data, type), block, {indices, index_count}, number,
                  "couplet_exchange_send_list");
}

couplet_status couplet_exchange_receive_list(couplet_exchange* exchange, const couplet_exchange_edge* edge, void* data,
                                             couplet_type type, uint64_t block, const int64_t* indices,
                                             uint64_t index_count, uint32_t* number) {
  return add_list(exchange, edge, Direction::in, writing(data, type), block, {indices, index_count}, number,
                  "couplet_exchange_receive_list");
}

couplet_status couplet_exchange_freeze(couplet_exchange* exchange) {
  return capi::call(exchange, "couplet_exchange_freeze", [&] { return exchange->exchange->freeze(); });
}

couplet_status couplet_exchange_start(couplet_exchange* exchange) {
  return capi::call(exchange, "couplet_exchange_start", [&] { return exchange->exchange->start(); });
}

couplet_status couplet_exchange_test(couplet_exchange* exchange, int32_t* done) {
  constexpr auto function = "couplet_exchange_test";
  return capi::call(exchange, function, [&]() -> Status {
    COUPLET_TRY(capi::given(done, function, "done"));
    bool is_done = false;
    COUPLET_TRY(exchange->exchange->test(is_done));
    *done = is_done ? 1 : 0;
    return {};
  });
}

couplet_status couplet_exchange_wait(couplet_exchange* exchange, double timeout_s) {
  constexpr auto function = "couplet_exchange_wait";
  return capi::call(exchange, function, [&]() -> Status {
    COUPLET_TRY(capi::check_timeout(timeout_s, function));
    // Most waits end at once: the clock is read only for a finite timeout.
    return exchange->exchange->wait(timeout_s < 0 ? couplet::os::never : couplet::os::deadline_after(timeout_s));
  });
}

couplet_status couplet_exchange_arrived(couplet_exchange* exchange, uint32_t edge, int32_t* arrived) {
  constexpr auto function = "couplet_exchange_arrived";
  return capi::call(exchange, function, [&]() -> Status {
    COUPLET_TRY(capi::given(arrived, function, "arrived"));
    COUPLET_TRY_VALUE(const bool has_arrived, exchange->exchange->arrived(edge));
    *arrived = has_arrived ? 1 : 0;
    return {};
  });
}

couplet_status couplet_exchange_set_length(couplet_exchange* exchange, uint32_t edge, uint64_t bytes) {
  return capi::call(exchange, "couplet_exchange_set_length",
                    [&] { return exchange->exchange->set_length(edge, bytes); });
}

couplet_status couplet_exchange_length(couplet_exchange* exchange, uint32_t edge, uint64_t* bytes) {
  constexpr auto function = "couplet_exchange_length";
  return capi::call(exchange, function, [&]() -> Status {
    COUPLET_TRY(capi::given(bytes, function, "bytes"));
    COUPLET_TRY_VALUE(*bytes, exchange->exchange->length(edge));
    return {};
  });
}

couplet_status couplet_exchange_method(couplet_exchange* exchange, const char** method) {
  constexpr auto function = "couplet_exchange_method";
  return capi::call(exchange, function, [&]() -> Status {
    COUPLET_TRY(capi::given(method, function, "method"));
    exchange->method = exchange->exchange->method();
    *method = exchange->method.c_str();
    return {};
  });
}

couplet_status couplet_exchange_explain(couplet_exchange* exchange, char* text, size_t bytes, size_t* needed) {
  constexpr auto function = "couplet_exchange_explain";
  return capi::call(exchange, function,
                    [&] { return capi::give_text(exchange->exchange->explanation(), text, bytes, needed, function); });
}

couplet_status couplet_exchange_close(couplet_exchange* exchange) {
  return capi::close(exchange, &couplet_universe::exchanges, "couplet_exchange_close",
                     [&] { return exchange->close(); });
}

}  // extern "C"
