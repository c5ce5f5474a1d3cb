// One line of a script: a verb and key=value pairs.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>

namespace chaos {

class Action {
 public:
  explicit Action(const std::string& line) {
    std::istringstream words(line);
    words >> verb_;
    for (std::string word; words >> word;) {
      const auto equal = word.find('=');
      values_[word.substr(0, equal)] = equal == std::string::npos ? "" : word.substr(equal + 1);
    }
  }
  [[nodiscard]] const std::string& verb() const { return verb_; }
  [[nodiscard]] bool has(const char* key) const { return values_.count(key) != 0; }
  [[nodiscard]] std::string text(const char* key, const char* otherwise = "") const {
    const auto found = values_.find(key);
    return found == values_.end() ? otherwise : found->second;
  }
  [[nodiscard]] std::int64_t whole(const char* key, std::int64_t otherwise) const {
    const auto found = values_.find(key);
    return found == values_.end() ? otherwise : std::strtoll(found->second.c_str(), nullptr, 10);
  }
  [[nodiscard]] std::uint64_t count(const char* key, std::uint64_t otherwise) const {
    const auto found = values_.find(key);
    return found == values_.end() ? otherwise : std::strtoull(found->second.c_str(), nullptr, 10);
  }
  [[nodiscard]] double real(const char* key, double otherwise) const {
    const auto found = values_.find(key);
    return found == values_.end() ? otherwise : std::strtod(found->second.c_str(), nullptr);
  }

 private:
  std::string verb_;
  std::map<std::string, std::string> values_;
};

}  // namespace chaos
