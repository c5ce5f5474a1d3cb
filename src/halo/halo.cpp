#include "halo/halo.hpp"

#include <algorithm>
#include <utility>

namespace couplet::halo {

std::string Halo::title() const {
  return fmt::format("halo '{}'", exchange_.name());
}

std::uint64_t Halo::Limited::bytes(std::int64_t width) const {
  return bytes_within[std::min(static_cast<std::size_t>(width), bytes_within.size() - 1)];
}

Result<std::uint32_t> Halo::add(Field field) {
  if (field.name.empty()) field.name = fmt::format("{}", field_count_);
  if (!grid_.has_value()) return add_to_lists(std::move(field));
  auto edges = edges_of(*grid_, rank_, field, field_count_, has_widths_);
  if (!edges.ok()) {
    const Status why = edges.status().within(title());
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
  widest_ = std::max(widest_, widest(*grid_, field));
  return field_count_++;
}

Result<std::uint32_t> Halo::add_to_lists(Field field) {
  if (!exchange_.method().empty())
    return fail(Code::state, "{}: the halo is frozen; add all fields before freeze", title());
  if (Status checked = check_list_field(lists_, field); !checked.ok()) {
    const Status why = checked.within(title());
    refuse(why);
    return why;
  }
  fields_.push_back(std::move(field));
  return field_count_++;
}

// With lists, the ranks find out first which of them needs what of which.
Status Halo::freeze() {
  if (grid_.has_value()) return exchange_.freeze(refusal_);
  std::vector<IndexLink> links;
  const auto find = [&](exchange::Assembly& assembly) -> Status {
    COUPLET_TRY(assembly.agree(refusal_));
    COUPLET_TRY_VALUE(links, find_links(assembly, lists_));
    return {};
  };
  COUPLET_TRY(exchange_.confer(find));
  return exchange_.freeze(add_edges(links));
}

Status Halo::add_edges(const std::vector<IndexLink>& links) {
  for (std::uint32_t number = 0; number < fields_.size(); ++number) {
    for (exchange::Edge& edge : list_edges(links, fields_[number], number)) {
      COUPLET_TRY(exchange_.add(std::move(edge)).status());
    }
  }
  return {};
}

Status Halo::begin(std::optional<std::int64_t> width) {
  if (!has_widths_) {
    if (!width.has_value()) return exchange_.start();
    return fail(Code::state, "{}: begin was given a width, but the halo was not created with widths", title());
  }
  if (width.has_value() && (*width < 0 || *width > widest_)) {
    return fail(Code::argument, "{}: the width of a round must be 0 to {}, not {}", title(), widest_, *width);
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
                "{}: rank {} has begun the round with width {}, and rank {} with another one: it has sent {} bytes in "
                "place of {}",
                title(), rank_, width_, one.peer, bytes, one.bytes(width_));
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
