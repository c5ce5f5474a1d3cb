// Puts together the descriptions of series that arrive in parts, for each connection. Pure; a part of SeriesService.
// Invariants: the parts of one description arrive in order and without a gap; the unfinished descriptions of one
// connection are bounded.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "universe/control.hpp"
#include "universe/hub/outbox.hpp"

namespace couplet::universe {

inline constexpr std::size_t max_unfinished_uploads = 16;  // for one connection

class Uploads {
 public:
  // Adds a part. Returns the whole description if this was its last part. Returns protocol if the part does not follow
  // the one before, and limit if too many descriptions are unfinished. After an error the description is forgotten.
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
      return fail(Code::protocol, "a part of a description begins at byte {}, but {} bytes have come before it",
                  part.offset, had);
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
