#include "collective/split.hpp"

#include <algorithm>
#include <tuple>

namespace couplet::collective {
namespace {

// FNV-1a of 64 bits.
std::int64_t hash_of(std::string_view name) noexcept {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const char letter : name) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001B3U;
  return static_cast<std::int64_t>(hash);
}

}  // namespace

SplitRow split_row(const SplitChoice& choice, std::string_view name) noexcept {
  return {choice.has_color ? 1 : 0, choice.has_color ? choice.color : 0, choice.key, choice.universe_rank,
          hash_of(name)};
}

Result<std::vector<std::int32_t>> split_members(const std::vector<SplitRow>& rows, const SplitRow& own) {
  std::vector<std::tuple<std::int64_t, std::size_t, std::int32_t>> found;
  for (std::size_t rank = 0; rank < rows.size(); ++rank) {
    const auto& [has_color, color, key, universe_rank, name] = rows[rank];
    if (name != own[4]) return fail(Code::mismatch, "rank {} splits the group under another name", rank);
    if (has_color == 1 && color == own[1]) found.emplace_back(key, rank, static_cast<std::int32_t>(universe_rank));
  }
  std::sort(found.begin(), found.end());
  std::vector<std::int32_t> members;
  members.reserve(found.size());
  for (const auto& one : found) members.push_back(std::get<2>(one));
  return members;
}

std::string split_name(std::string_view name, std::int64_t color) {
  return fmt::format("{}:{}", name, color);
}

}  // namespace couplet::collective
