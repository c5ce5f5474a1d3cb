#include "halo/halo.hpp"

#include <algorithm>
#include <utility>

namespace couplet::halo {

std::uint64_t Halo::Limited::bytes(std::int64_t width) const {
  return bytes_within[std::min(static_cast<std::size_t>(width), bytes_within.size() - 1)];
}

Result<std::uint32_t> Halo::add(Field field) {
  if (field.name.empty()) field.name = fmt::format("{}", field_count_);
  auto edges = edges_of(grid_, rank_, field, field_count_, has_widths_);
  if (!edges.ok()) {
    const Status why = edges.status().within(fmt::format("halo '{}'", exchange_.name()));
    refuse(why);
    return why;
  }
  for (LayeredEdge& made : *edges) {
    Limited limited{.edge = 0, .peer = made.edge.peer, .bytes_within = std::move(made.bytes_within)};
    limited.is_sent = made.edge.direction == exchange::Direction::out;
    const auto added = exchange_.add(std::move(made.edge));
    if (!added.ok()) {
      refuse(added.status());
      return added.status();
    }
    limited.edge = *added;
    if (has_widths_) limited_.push_back(std::move(limited));
  }
  widest_ = std::max(widest_, widest(grid_, field));
  return field_count_++;
}

Status Halo::begin(std::optional<std::int64_t> width) {
  if (!has_widths_) {
    if (!width.has_value()) return exchange_.start();
    return fail(Code::state, "halo '{}': begin was given a width, but the halo was not created with widths",
                exchange_.name());
  }
  if (width.has_value() && (*width < 0 || *width > widest_)) {
    return fail(Code::argument, "halo '{}': the width of a round must be 0 to {}, not {}", exchange_.name(), widest_,
                *width);
  }
  const std::int64_t wanted = width.value_or(widest_);
  for (const Limited& one : limited_) {
    if (one.is_sent) COUPLET_TRY(exchange_.set_length(one.edge, one.bytes(wanted)));
  }
  width_ = wanted;
  return exchange_.start();
}

Status Halo::check_lengths() const {
  for (const Limited& one : limited_) {
    if (one.is_sent) continue;
    COUPLET_TRY_VALUE(const std::uint64_t bytes, exchange_.length(one.edge));
    if (bytes == one.bytes(width_)) continue;
    return fail(Code::mismatch,
                "halo '{}': rank {} has begun the round with width {}, and rank {} with another one: it has sent {} "
                "bytes in place of {}",
                exchange_.name(), rank_, width_, one.peer, bytes, one.bytes(width_));
  }
  return {};
}

Status Halo::test(bool& is_done) {
  COUPLET_TRY(exchange_.test(is_done));
  return is_done ? check_lengths() : Status();
}

Status Halo::end(std::uint64_t deadline_ns) {
  COUPLET_TRY(exchange_.wait(deadline_ns));
  return check_lengths();
}

}  // namespace couplet::halo
