#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "capi/call.hpp"
#include "capi/options.hpp"
#include "capi/regions.hpp"
#include "coalesce/meeting.hpp"
#include "coalesce/phased.hpp"
#include "couplet/couplet_coalesce.h"

namespace {

using couplet::Code;
using couplet::fail;
using couplet::Result;
using couplet::Status;
using couplet::coalesce::Moment;
using couplet::coalesce::PhasedOptions;
using couplet::coalesce::StepManager;
using couplet::exchange::Direction;
using couplet::exchange::Region;
namespace capi = couplet::capi;

// Runs user code without the turn, so that it may call Couplet, and turns what it returns into a Status.
template <typename Body>
Status outside(couplet_universe& universe, const Body& body) {
  couplet_status status = COUPLET_OK;
  const std::uint64_t finished = capi::finished_count();
  Status back;
  if (universe.turn.serialised()) {
    universe.turn.sleep_without(nullptr, [&] { status = body(); });
  } else {
    universe.turn.end();
    status = body();
    back = universe.turn.begin();
  }
  if (status == COUPLET_OK) return back;
  const bool is_known = std::string_view(couplet::code_name(status)) != "unknown";
  const Code code = is_known ? static_cast<Code>(status) : Code::state;
  if (is_known && capi::finished_count() != finished) return {code, couplet_error_text()};
  return fail(code, "it has returned {}", is_known ? couplet::code_name(status) : std::to_string(status));
}

// A client whose stages are functions of a C caller.
class CallbackClient final : public couplet::coalesce::Client {
 public:
  CallbackClient(couplet_universe& universe, const couplet_coalesce_client& given)
      : universe_(universe), name_(given.name), given_(given) {}
  [[nodiscard]] std::string_view name() const noexcept override { return name_; }
  [[nodiscard]] couplet::coalesce::Stages stages() const noexcept override {
    return {.fill = given_.fill != nullptr,
            .overlap = given_.overlap != nullptr,
            .use = given_.use != nullptr,
            .end_round = given_.end_round != nullptr};
  }
  Status fill(const Moment& moment) override { return call(given_.fill, moment); }
  Status overlap(const Moment& moment) override { return call(given_.overlap, moment); }
  [[nodiscard]] bool hears_arrivals() const noexcept override { return given_.arrived != nullptr; }
  Status arrived(const Moment& moment) override { return call(given_.arrived, moment); }
  Status use(const Moment& moment) override { return call(given_.use, moment); }
  Status end_round(std::uint64_t round) override { return call(given_.end_round, {.round = round}); }

 private:
  Status call(couplet_coalesce_callback callback, const Moment& moment) {
    const couplet_coalesce_moment given{sizeof given, moment.round, moment.phase, moment.peer};
    return outside(universe_, [&] { return callback(&given, given_.context); });
  }

  couplet_universe& universe_;
  std::string name_;
  couplet_coalesce_client given_;
};

Status check_switch(std::int32_t value, const char* name, const char* function) {
  if (value == 0 || value == 1) return {};
  return fail(Code::argument, "{}: {} must be 0 or 1, not {}", function, name, value);
}

Result<couplet::coalesce::Options> options_of(const couplet_coalesce_options& given, const char* function) {
  COUPLET_TRY(capi::check_timeout(given.timeout_s, function));
  COUPLET_TRY(check_switch(given.merge_waits, "merge_waits", function));
  COUPLET_TRY(check_switch(given.merge_messages, "merge_messages", function));
  if (given.phase_count < 1 || given.phase_count > couplet::coalesce::max_phases) {
    return fail(Code::argument, "{}: phase_count must be 1 to {}, not {}", function, couplet::coalesce::max_phases,
                given.phase_count);
  }
  couplet::coalesce::Options options;
  options.phase_count = given.phase_count;
  options.switches = {.merges_waits = given.merge_waits == 1, .merges_messages = given.merge_messages == 1};
  options.timeout_s = given.timeout_s;
  options.max_events = given.max_events;
  return options;
}

Status create(couplet_group& group, const char* name, const couplet_coalesce_options* given,
              couplet_coalesce** coalesce, const char* function) {
  COUPLET_TRY(capi::given(name, function, "name"));
  COUPLET_TRY(capi::given(coalesce, function, "coalesce"));
  COUPLET_TRY_VALUE(const auto complete, capi::complete(given, couplet_coalesce_options_init, function));
  COUPLET_TRY_VALUE(const auto options, options_of(complete, function));
  if (*name == '\0') return fail(Code::argument, "{}: the name must not be empty", function);
  if (group.group->rank() < 0) {
    return fail(Code::state, "{}: this process is no member of group '{}'", function, group.group->name());
  }
  couplet_universe& universe = *group.owner;
  for (const auto& one : universe.coalesces) {
    if (one->group_hash != group.group->hash() || one->name != name) continue;
    return fail(Code::exists, "{}: this rank has open rounds '{}' in group '{}'", function, name, group.group->name());
  }
  if (universe.methods == nullptr) {
    universe.methods = couplet::runtime::make_exchange_methods(*universe.universe);
  }
  auto handle = std::make_unique<couplet_coalesce>();
  handle->owner = &universe;
  handle->group_hash = group.group->hash();
  handle->name = name;
  handle->group = std::make_unique<couplet::message::Group>(*group.group);
  couplet::exchange::ExchangeOptions wanted;
  wanted.timeout_s = options.timeout_s;
  wanted.title = fmt::format("coalesce '{}'", name);
  if (complete.method != nullptr) wanted.method = complete.method;
  couplet::coalesce::Surroundings around;
  around.messenger = &universe.universe->messenger();
  around.make_exchange = [&universe, wanted, members = handle->group.get()](const std::string& exchange) {
    return universe.universe->create_exchange(*members, exchange, wanted, universe.methods->all(universe.makers));
  };
  handle->manager = std::make_unique<StepManager>(around, *group.group, name, options);
  universe.coalesces.push_back(std::move(handle));
  *coalesce = universe.coalesces.back().get();
  return {};
}

Status add_client(couplet_coalesce& coalesce, const couplet_coalesce_client* given, std::int32_t* number,
                  const char* function) {
  COUPLET_TRY(capi::given(given, function, "client"));
  COUPLET_TRY_VALUE(const auto client, capi::complete(given, couplet_coalesce_client_init, function));
  COUPLET_TRY(capi::given(client.name, function, "the name of the client"));
  COUPLET_TRY_VALUE(const std::size_t place,
                    coalesce.manager->add(std::make_unique<CallbackClient>(*coalesce.owner, client)));
  if (number != nullptr) *number = static_cast<std::int32_t>(place);
  return {};
}

// Declares a request of a region, which `make` gives.
template <typename Make>
couplet_status declare(couplet_coalesce* coalesce, std::int32_t client, const couplet_coalesce_request* given,
                       Direction direction, std::uint32_t* number, const char* function, const Make& make) {
  return capi::call(coalesce, function, [&]() -> Status {
    COUPLET_TRY(capi::given(given, function, "terms"));
    COUPLET_TRY_VALUE(const auto terms, capi::complete(given, couplet_coalesce_request_init, function));
    COUPLET_TRY(check_switch(terms.is_variable, "is_variable", function));
    COUPLET_TRY(check_switch(terms.is_optional, "is_optional", function));
    COUPLET_TRY_VALUE(Region region, make());
    couplet::coalesce::Request request;
    request.phase = terms.phase;
    request.is_optional = terms.is_optional == 1;
    request.edge.direction = direction;
    request.edge.peer = terms.peer;
    request.edge.tag = terms.tag;
    request.edge.is_variable = terms.is_variable == 1;
    request.edge.every = terms.every;
    request.edge.offset = terms.offset;
    if (terms.title != nullptr) request.edge.title = terms.title;
    request.edge.regions.push_back(std::move(region));
    const std::size_t place = client < 0 ? SIZE_MAX : static_cast<std::size_t>(client);
    COUPLET_TRY_VALUE(const std::uint32_t id, coalesce->manager->communications().add(place, std::move(request)));
    if (number != nullptr) *number = id;
    return {};
  });
}

couplet_status declare_box(couplet_coalesce* coalesce, std::int32_t client, const couplet_coalesce_request* terms,
                           Direction direction, const capi::Array& array, const capi::BoxArguments& box,
                           std::uint32_t* number, const char* function) {
  return declare(coalesce, client, terms, direction, number, function,
                 [&] { return capi::box_region(array, box, function); });
}

couplet_status declare_list(couplet_coalesce* coalesce, std::int32_t client, const couplet_coalesce_request* terms,
                            Direction direction, const capi::Array& array, std::uint64_t block,
                            std::span<const std::int64_t> indices, std::uint32_t* number, const char* function) {
  return declare(coalesce, client, terms, direction, number, function, [&]() -> Result<Region> {
    if (!indices.empty()) COUPLET_TRY(capi::given(indices.data(), function, "indices"));
    return capi::list_region(array, block, indices, function);
  });
}

// The callbacks of a phased collective, as the C caller gives them.
struct Phased {
  PhasedOptions options;
  couplet::coalesce::Give give;
  couplet::coalesce::Take take;
};

Result<Phased> phased_of(couplet_universe& universe, const couplet_coalesce_phased* given, const char* function) {
  COUPLET_TRY(capi::given(given, function, "phased"));
  COUPLET_TRY_VALUE(const auto terms, capi::complete(given, couplet_coalesce_phased_init, function));
  COUPLET_TRY(capi::given(terms.name, function, "the name of the client"));
  Phased phased;
  phased.options.name = terms.name;
  phased.options.phase = terms.phase;
  phased.options.every = terms.every;
  phased.options.root = terms.root;
  phased.options.arity = terms.arity;
  phased.give = [&universe, terms](std::uint64_t round, std::byte* data, std::uint64_t& bytes) -> Result<bool> {
    std::int32_t is_given = 0;
    COUPLET_TRY(outside(universe, [&] { return terms.give(round, data, &bytes, &is_given, terms.context); }));
    return is_given != 0;
  };
  phased.take = [&universe, terms](std::uint64_t began, std::uint64_t givers, const std::byte* data,
                                   std::uint64_t bytes) -> Status {
    if (terms.take == nullptr) return {};
    return outside(universe, [&] { return terms.take(began, givers, data, bytes, terms.context); });
  };
  return phased;
}

Status add_broadcast(couplet_coalesce& coalesce, const couplet_coalesce_phased* given, std::uint64_t capacity_bytes,
                     std::int32_t* client, const char* function) {
  COUPLET_TRY_VALUE(Phased phased, phased_of(*coalesce.owner, given, function));
  if (phased.options.root == coalesce.group->rank() && given->give == nullptr) {
    return fail(Code::argument, "{}: this rank is the root of '{}', and `give` is NULL", function, phased.options.name);
  }
  COUPLET_TRY_VALUE(const std::size_t place,
                    couplet::coalesce::add_broadcast(*coalesce.manager, phased.options, capacity_bytes,
                                                     std::move(phased.give), std::move(phased.take)));
  if (client != nullptr) *client = static_cast<std::int32_t>(place);
  return {};
}

Status add_reduction(couplet_coalesce& coalesce, const couplet_coalesce_phased* given,
                     const couplet::coalesce::PhasedReduction::Values& values, std::int32_t* client,
                     const char* function) {
  COUPLET_TRY_VALUE(Phased phased, phased_of(*coalesce.owner, given, function));
  if (given->give == nullptr) return fail(Code::argument, "{}: give is NULL", function);
  COUPLET_TRY_VALUE(const std::size_t place,
                    couplet::coalesce::add_reduction(*coalesce.manager, phased.options, values, std::move(phased.give),
                                                     std::move(phased.take)));
  if (client != nullptr) *client = static_cast<std::int32_t>(place);
  return {};
}

}  // namespace

Status couplet_coalesce::close() {
  Status closed = manager->close();
  for (auto& exchange : manager->communications().take_unfinished()) {
    owner->ended_exchanges.push_back(std::move(exchange));
  }
  return closed;
}

extern "C" {

void couplet_coalesce_options_init(couplet_coalesce_options* options) {
  *options = couplet_coalesce_options{};
  options->struct_bytes = sizeof *options;
  options->method = "auto";
  options->timeout_s = 60;
  options->phase_count = 1;
  options->merge_waits = 1;
  options->merge_messages = 1;
}

void couplet_coalesce_client_init(couplet_coalesce_client* client) {
  *client = couplet_coalesce_client{};
  client->struct_bytes = sizeof *client;
}

void couplet_coalesce_request_init(couplet_coalesce_request* request) {
  *request = couplet_coalesce_request{};
  request->struct_bytes = sizeof *request;
  request->every = 1;
  request->peer = -1;
}

void couplet_coalesce_phased_init(couplet_coalesce_phased* phased) {
  *phased = couplet_coalesce_phased{};
  phased->struct_bytes = sizeof *phased;
  phased->every = 1;
  phased->arity = 2;
}

couplet_status couplet_coalesce_fail(couplet_status error, const char* text) {
  const bool is_error = error < 0 && std::string_view(couplet::code_name(error)) != "unknown";
  return capi::finish(Status(is_error ? static_cast<Code>(error) : Code::state, text == nullptr ? "" : text));
}

couplet_status couplet_coalesce_create(couplet_group* group, const char* name, const couplet_coalesce_options* options,
                                       couplet_coalesce** coalesce) {
  constexpr auto function = "couplet_coalesce_create";
  return capi::call(group, function, [&] { return create(*group, name, options, coalesce, function); });
}

couplet_status couplet_coalesce_register(couplet_coalesce* coalesce, const couplet_coalesce_client* client,
                                         int32_t* number) {
  constexpr auto function = "couplet_coalesce_register";
  return capi::call(coalesce, function, [&] { return add_client(*coalesce, client, number, function); });
}

couplet_status couplet_coalesce_remove(couplet_coalesce* coalesce, int32_t client) {
  return capi::call(coalesce, "couplet_coalesce_remove", [&] {
    return coalesce->manager->remove(client < 0 ? SIZE_MAX : static_cast<std::size_t>(client));
  });
}

couplet_status couplet_coalesce_send_box(couplet_coalesce* coalesce, int32_t client,
                                         const couplet_coalesce_request* terms, const void* data, couplet_type type,
                                         int32_t dimensions, const int64_t* shape, const int64_t* stride_bytes,
                                         const int64_t* start, const int64_t* stop, uint32_t* request) {
  return declare_box(coalesce, client, terms, Direction::out, capi::reading(data, type),
                     {dimensions, shape, stride_bytes, start, stop}, request, "couplet_coalesce_send_box");
}

couplet_status couplet_coalesce_receive_box(couplet_coalesce* coalesce, int32_t client,
                                            const couplet_coalesce_request* terms, void* data, couplet_type type,
                                            int32_t dimensions, const int64_t* shape, const int64_t* stride_bytes,
                                            const int64_t* start, const int64_t* stop, uint32_t* request) {
  return declare_box(coalesce, client, terms, Direction::in, capi::writing(data, type),
                     {dimensions, shape, stride_bytes, start, stop}, request, "couplet_coalesce_receive_box");
}

couplet_status couplet_coalesce_send_list(couplet_coalesce* coalesce, int32_t client,
                                          const couplet_coalesce_request* terms, const void* data, couplet_type type,
                                          uint64_t block, const int64_t* indices, uint64_t index_count,
                                          uint32_t* request) {
  return declare_list(coalesce, client, terms, Direction::out, capi::reading(data, type), block, {indices, index_count},
                      request, "couplet_coalesce_send_list");
}

couplet_status couplet_coalesce_receive_list(couplet_coalesce* coalesce, int32_t client,
                                             const couplet_coalesce_request* terms, void* data, couplet_type type,
                                             uint64_t block, const int64_t* indices, uint64_t index_count,
                                             uint32_t* request) {
  return declare_list(coalesce, client, terms, Direction::in, capi::writing(data, type), block, {indices, index_count},
                      request, "couplet_coalesce_receive_list");
}

couplet_status couplet_coalesce_add_broadcast(couplet_coalesce* coalesce, const couplet_coalesce_phased* phased,
                                              uint64_t capacity_bytes, int32_t* client) {
  constexpr auto function = "couplet_coalesce_add_broadcast";
  return capi::call(coalesce, function,
                    [&] { return add_broadcast(*coalesce, phased, capacity_bytes, client, function); });
}

couplet_status couplet_coalesce_add_reduction(couplet_coalesce* coalesce, const couplet_coalesce_phased* phased,
                                              couplet_operation operation, couplet_type type, uint64_t count,
                                              int32_t to_all, int32_t* client) {
  constexpr auto function = "couplet_coalesce_add_reduction";
  return capi::call(coalesce, function, [&]() -> Status {
    COUPLET_TRY(check_switch(to_all, "to_all", function));
    return add_reduction(*coalesce, phased,
                         {.operation = operation, .type = type, .count = count, .to_all = to_all == 1}, client,
                         function);
  });
}

couplet_status couplet_coalesce_freeze(couplet_coalesce* coalesce) {
  return capi::call(coalesce, "couplet_coalesce_freeze", [&] { return coalesce->manager->freeze(); });
}

couplet_status couplet_coalesce_amend(couplet_coalesce* coalesce, uint64_t from_round) {
  return capi::call(coalesce, "couplet_coalesce_amend", [&] { return coalesce->manager->amend(from_round); });
}

couplet_status couplet_coalesce_round(couplet_coalesce* coalesce, double timeout_s) {
  constexpr auto function = "couplet_coalesce_round";
  return capi::call(coalesce, function, [&]() -> Status {
    COUPLET_TRY(capi::check_timeout(timeout_s, function));
    return coalesce->manager->run_round(timeout_s < 0 ? couplet::os::never : couplet::os::deadline_after(timeout_s));
  });
}

couplet_status couplet_coalesce_round_number(couplet_coalesce* coalesce, uint64_t* round) {
  constexpr auto function = "couplet_coalesce_round_number";
  return capi::call(coalesce, function, [&]() -> Status {
    COUPLET_TRY(capi::given(round, function, "round"));
    *round = coalesce->manager->round();
    return {};
  });
}

couplet_status couplet_coalesce_set_length(couplet_coalesce* coalesce, uint32_t request, uint64_t bytes) {
  return capi::call(coalesce, "couplet_coalesce_set_length",
                    [&] { return coalesce->manager->communications().set_length(request, bytes); });
}

couplet_status couplet_coalesce_length(couplet_coalesce* coalesce, uint32_t request, uint64_t* bytes) {
  constexpr auto function = "couplet_coalesce_length";
  return capi::call(coalesce, function, [&]() -> Status {
    COUPLET_TRY(capi::given(bytes, function, "bytes"));
    COUPLET_TRY_VALUE(*bytes, coalesce->manager->communications().length(request));
    return {};
  });
}

couplet_status couplet_coalesce_report(couplet_coalesce* coalesce, int32_t form, char* text, size_t bytes,
                                       size_t* needed) {
  constexpr auto function = "couplet_coalesce_report";
  return capi::call(coalesce, function, [&]() -> Status {
    StepManager& manager = *coalesce->manager;
    std::string report;
    if (form == COUPLET_COALESCE_TABLE) {
      report = couplet::coalesce::table_of(manager.communications().counts());
    } else if (form == COUPLET_COALESCE_JSON) {
      report = couplet::coalesce::json_of(manager.communications().counts());
    } else if (form == COUPLET_COALESCE_TIMELINE) {
      report = manager.timeline();
    } else {
      return fail(Code::argument, "{}: form must be COUPLET_COALESCE_TABLE, _JSON or _TIMELINE, not {}", function,
                  form);
    }
    return capi::give_text(report, text, bytes, needed, function);
  });
}

couplet_status couplet_coalesce_close(couplet_coalesce* coalesce) {
  constexpr auto function = "couplet_coalesce_close";
  const couplet_status free = capi::call(coalesce, function, [&]() -> Status {
    if (!coalesce->manager->is_inside()) return {};
    return fail(Code::state, "{}: a callback of '{}' is running", function, coalesce->name);
  });
  if (free != COUPLET_OK) return free;
  return capi::close(coalesce, &couplet_universe::coalesces, function, [&] { return coalesce->close(); });
}

}  // extern "C"
