// Descriptions of series that arrive in parts: put together per connection. Pure; a part of SeriesService.
// Invariants: parts of one description come in order and without a gap; what one connection has unfinished is bounded.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "universe/control.hpp"
#include "universe/hub/outbox.hpp"

namespace couplet::universe {

inline constexpr std::size_t max_unfinished_uploads = 16;  // of one connection

class Uploads {
 public:
  // The whole description when its last part has come. protocol: the part does not follow the one before; limit: too
  // many unfinished ones. After an error the description is forgotten.
  Result<std::optional<std::string>> add(ConnectionId connection, const std::string& upload, const RecordPart& part) {
    const auto key = std::pair(connection, upload);
    auto found = parts_.find(key);
    if (found == parts_.end()) {
      const auto begin = parts_.lower_bound({connection, {}});
      const auto end = parts_.lower_bound({connection + 1, {}});
      if (std::distance(begin, end) >= static_cast<std::ptrdiff_t>(max_unfinished_uploads)) {
        return fail(Code::limit, "{} descriptions of series are unfinished, the most that are possible",
                    max_unfinished_uploads);
      }
      found = parts_.emplace(key, std::string()).first;
    }
    auto& bytes = found->second;
    if (part.offset != bytes.size()) {
      const auto had = bytes.size();
      parts_.erase(found);
      return fail(Code::protocol, "a part of a description begins at byte {}, but {} are there", part.offset, had);
    }
    bytes += part.bytes;
    if (bytes.size() < part.record_bytes && !part.bytes.empty()) {
      return std::optional<std::string>();
    }
    std::optional<std::string> whole = std::move(bytes);
    parts_.erase(found);
    return whole;
  }
  void drop(ConnectionId connection) {
    parts_.erase(parts_.lower_bound({connection, {}}), parts_.lower_bound({connection + 1, {}}));
  }

 private:
  std::map<std::pair<ConnectionId, std::string>, std::string> parts_;
};

}  // namespace couplet::universe
