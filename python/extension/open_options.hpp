// The options of Universe.open_series that are plain values, from a dict with the names of the C members.
// Written by tools/generate from include/couplet/couplet_series.h: do not edit (make generate).
#pragma once

#include <couplet/couplet.h>
#include <nanobind/nanobind.h>

#include <string>

namespace couplet_python {

// Gives `member` the value of this name, if there is one. Throws TypeError if it is of another type.
template <class T, class Member>
void set_member(const nanobind::dict& given, const char* name, Member& member) {
  if (!given.contains(name)) {
    return;
  }
  T value{};
  if (!nanobind::try_cast(nanobind::object(given[name]), value)) {
    const std::string text = "open_series: " + std::string(name) + " has a value of the wrong type";
    throw nanobind::type_error(text.c_str());
  }
  member = static_cast<Member>(value);
}

inline void set_plain(couplet_series_open_options& c, const nanobind::dict& given) {
  set_member<int32_t>(given, "mode", c.mode);
  set_member<int32_t>(given, "from", c.from);
  set_member<bool>(given, "local", c.local);
  set_member<int64_t>(given, "from_step", c.from_step);
  set_member<couplet_type>(given, "type", c.type);
  set_member<double>(given, "timeout_s", c.timeout_s);
  set_member<uint64_t>(given, "buffer_bytes", c.buffer_bytes);
  set_member<uint64_t>(given, "every", c.every);
  set_member<bool>(given, "latest", c.latest);
  set_member<bool>(given, "torn", c.torn);
  set_member<double>(given, "interval", c.interval);
  set_member<int32_t>(given, "beyond_newest", c.beyond_newest);
  set_member<uint64_t>(given, "up_to_bytes", c.up_to_bytes);
}

}  // namespace couplet_python
