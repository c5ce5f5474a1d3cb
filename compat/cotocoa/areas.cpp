// Areas: the memory of each requester rank is one of Couplet's areas. All couplers and workers open it when it is
// registered, so that none of them depends on the requester later.
#include <fmt/format.h>

#include "session.hpp"

namespace ctca {
namespace {

const char* type_name(couplet_type type) {
  return type == COUPLET_INT32 ? "int" : type == COUPLET_FLOAT ? "real4" : "real8";
}

}  // namespace

// There are two rounds. In the first, a difference is found before any process waits for an area that never comes. In
// the second, the requester answers the processes that open its area.
int Session::register_area(const char* function, couplet_type type, void* base, std::size_t count) {
  const auto number = static_cast<int>(areas_.size());
  const std::string name = fmt::format("cotocoa-area-{}", number);
  Area& area = areas_.emplace_back();
  if (base == nullptr && count > 0) {
    fatal(function, fmt::format("no memory is given for {} elements", count));
  }
  if (role() == Role::requester) {
    couplet_area_options options;
    couplet_area_options_init(&options);
    options.memory = base;
    const auto extent = static_cast<std::int64_t>(count);
    check(function,
          couplet_area_create(universe_, name.c_str(), type, 1, &extent, &options, &area.of_rank.emplace_back()));
  }
  // Couplers and workers may name any type: the requester's counts.
  const auto types = collect(function, Together::register_area, type);
  const auto first = static_cast<std::size_t>(requester().first_rank);
  for (std::size_t rank = first; root() && rank < first + static_cast<std::size_t>(requester().size); ++rank) {
    if (types[rank] != type && missed(static_cast<int>(rank))) {
      fatal(function, fmt::format("{} registers area {} as {}, this program as {}", describe(static_cast<int>(rank)),
                                  number, type_name(types[rank]), type_name(type)));
    }
  }
  areas_.back().type = spread(function, type);
  for (int rank = 0; role() != Role::requester && rank < requester().size; ++rank) {
    check(function, couplet_area_open(universe_, name.c_str(), requester().first_rank + rank, patience_s_,
                                      &area.of_rank.emplace_back()));
  }
  collect(function, Together::register_area, type);
  spread(function, 0);
  return number;
}

void Session::move_area(const char* function, bool writing, couplet_type type, int area, int rank, std::size_t offset,
                        std::size_t count, void* data) {
  if (area < 0 || static_cast<std::size_t>(area) >= areas_.size()) {
    fatal(function, fmt::format("there is no area {}: {} are registered", area, areas_.size()));
  }
  const Area& known = areas_[static_cast<std::size_t>(area)];
  if (known.type != type) {
    fatal(function, fmt::format("area {} is of {}, not of {}", area, type_name(known.type), type_name(type)));
  }
  if (rank < 0 || rank >= requester().size) {
    fatal(function,
          fmt::format("area {}: the requester has no rank {}, it has 0 to {}", area, rank, requester().size - 1));
  }
  couplet_area* const its = known.of_rank[static_cast<std::size_t>(rank)];
  check(function, writing ? couplet_area_write(its, offset, count, data, patience_s_, nullptr)
                          : couplet_area_read(its, offset, count, data, patience_s_, nullptr));
  profile_.count_bytes(count * couplet_type_bytes(type));
}

}  // namespace ctca
