#include "exchange/mpi/window.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstring>
#include <optional>

#include "exchange/mpi/call.hpp"

namespace couplet::exchange {
namespace {

constexpr std::uint64_t largest_put = std::uint64_t{1} << 30;  // in one call: counts are 32-bit numbers
constexpr std::size_t numbers_of_place = 5;

std::optional<std::array<std::uint64_t, numbers_of_place>> read_numbers(std::string_view text) {
  std::array<std::uint64_t, numbers_of_place> numbers{};
  for (std::uint64_t& number : numbers) {
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
    if (read.ec != std::errc()) {
      return std::nullopt;
    }
    text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
    text.remove_prefix(text.starts_with(' ') ? 1 : 0);
  }
  return text.empty() ? std::optional(numbers) : std::nullopt;
}

std::uint64_t load(const std::byte* word) noexcept {
  return __atomic_load_n(reinterpret_cast<const std::uint64_t*>(word), __ATOMIC_ACQUIRE);
}

}  // namespace

Status Window::open(Team& team, std::size_t half_count, Flags flags) {
  team_ = &team;
  const std::uint64_t bytes = place_all(half_count, flags);
  COUPLET_TRY(allocate(team, bytes + line_bytes));
  team.own_window(window_);
  MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN);
  COUPLET_TRY(flags == Flags::none ? Status() : check_model());
  // Not every MPI begins the memory at a multiple of 64.
  const std::uint64_t skipped = -reinterpret_cast<std::uintptr_t>(memory_) % line_bytes;
  for (Place& place : own_) {
    for (std::size_t half = 0; half < most_halves; ++half) {
      place.halves[half] += skipped;
      place.flags[half] += skipped;
    }
    place.credit += skipped;
  }
  std::memset(memory_, 0, bytes + line_bytes);
  COUPLET_TRY_VALUE(std::byte* const values, team.reserve(own_.size() * sizeof(Values)));
  values_ = reinterpret_cast<Values*>(values);
  return {};
}

// Returns the bytes that are needed.
std::uint64_t Window::place_all(std::size_t half_count, Flags flags) {
  std::uint64_t end = 0;
  for (const Port& port : team_->ports()) {
    Place& place = own_.emplace_back();
    for (std::size_t half = 0; half < half_count && port.receives; ++half) {
      place.halves[half] = end + line_bytes;
      end += buffer_bytes(port.in_bytes);
    }
  }
  for (Place& place : own_) {  // the flags are next to each other, since all of them are polled
    for (std::uint64_t& flag : place.flags) {
      flag = end;
      end += flags == Flags::none ? 0 : line_bytes;
    }
    place.credit = end;
    end += flags == Flags::none ? 0 : line_bytes;
  }
  return end;
}

Status Window::allocate(Team& team, std::uint64_t bytes) {
  COUPLET_TRY_VALUE(const bool one_node, team.is_on_one_node());
  void* memory = nullptr;
  if (!one_node) {
    COUPLET_TRY(check_mpi(MPI_Win_allocate(static_cast<MPI_Aint>(bytes), 1, MPI_INFO_NULL, team.comm(),
                                           static_cast<void*>(&memory), &window_),
                          "MPI_Win_allocate"));
    memory_ = static_cast<std::byte*>(memory);
    return {};
  }
#ifdef OPEN_MPI
  is_direct_ = true;
#endif
  MPI_Info apart = MPI_INFO_NULL;
  MPI_Info_create(&apart);
  MPI_Info_set(apart, "alloc_shared_noncontig", "true");
  const int code = MPI_Win_allocate_shared(static_cast<MPI_Aint>(bytes), 1, apart, team.comm(),
                                           static_cast<void*>(&memory), &window_);
  MPI_Info_free(&apart);
  memory_ = static_cast<std::byte*>(memory);
  return check_mpi(code, "MPI_Win_allocate_shared");
}

Status Window::check_model() const {
  void* model = nullptr;
  int known = 0;
  MPI_Win_get_attr(window_, MPI_WIN_MODEL, static_cast<void*>(&model), &known);
  if (known == 0 || *static_cast<int*>(model) != MPI_WIN_UNIFIED) {
    return fail(Code::unsupported,
                "windows of this MPI do not have the unified memory model, so that flags in them cannot be polled");
  }
  return {};
}

std::vector<std::string> Window::places() const {
  std::vector<std::string> texts;
  texts.reserve(own_.size());
  for (const Place& place : own_) {
    texts.push_back(
        fmt::format("{} {} {} {} {}", place.halves[0], place.halves[1], place.flags[0], place.flags[1], place.credit));
  }
  return texts;
}

Status Window::connect(std::span<const std::string> texts) {
  for (std::size_t port = 0; port < texts.size(); ++port) {
    const auto numbers = read_numbers(texts[port]);
    if (!numbers) {
      return fail(Code::protocol, "member {} says '{}', which is no description of a window", team_->ports()[port].peer,
                  texts[port]);
    }
    theirs_.push_back({{(*numbers)[0], (*numbers)[1]}, {(*numbers)[2], (*numbers)[3]}, (*numbers)[4]});
  }
  return {};
}

std::uint64_t Window::flag(std::uint32_t port, std::size_t half) const noexcept {
  return load(memory_ + own_[port].flags[half]);
}

std::uint64_t Window::credit(std::uint32_t port) const noexcept {
  return load(memory_ + own_[port].credit);
}

Status Window::put(std::uint32_t port, std::size_t half, const std::byte* payload, std::uint64_t bytes) {
  const std::byte* from = payload - length_bytes;
  std::uint64_t place = theirs_[port].halves[half] - length_bytes;
  for (std::uint64_t left = bytes + length_bytes; left > 0;) {
    const std::uint64_t piece = std::min(left, largest_put);
    const int count = static_cast<int>(piece);
    COUPLET_TRY(check_mpi(
        MPI_Put(from, count, MPI_BYTE, team_->rank_of(port), static_cast<MPI_Aint>(place), count, MPI_BYTE, window_),
        "MPI_Put"));
    from += piece;
    place += piece;
    left -= piece;
  }
  return {};
}

Status Window::set_flag(std::uint32_t port, std::size_t half, std::uint64_t value) {
  values_[port].flag = value;
  return set(port, theirs_[port].flags[half], values_[port].flag);
}

Status Window::set_credit(std::uint32_t port, std::uint64_t value) {
  values_[port].credit = value;
  return set(port, theirs_[port].credit, values_[port].credit);
}

Status Window::set(std::uint32_t port, std::uint64_t place, const std::uint64_t& value) {
  return check_mpi(MPI_Accumulate(&value, 1, MPI_UINT64_T, team_->rank_of(port), static_cast<MPI_Aint>(place), 1,
                                  MPI_UINT64_T, MPI_REPLACE, window_),
                   "MPI_Accumulate");
}

}  // namespace couplet::exchange
