// The WAITIO_* variables, checked, and what follows from them for Couplet. Rank 0 of a PB reads them, and the others
// use what it has read, since not every launcher passes variables on to other nodes.
// Tests: tests/compat/waitio/test_mistakes.py, test_transports.py.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace waitio {

enum class CommType : int { none = 0, socket, file, hybrid, verbs };  // none: COUPLET_HUB is set, and the type is not
[[nodiscard]] const char* comm_type_name(CommType type) noexcept;

// It is sent to the other ranks as it is.
struct Settings {
  int block = 0;        // WAITIO_PBID
  int block_count = 0;  // WAITIO_NPB; 0: COUPLET_HUB is set, and the hub says how many there are
  CommType type = CommType::none;
  int given_hub = 0;                   // 1: COUPLET_HUB says where the hub is, and no hub is started here
  double patience_s = 600;             // for the start of the other PBs
  std::array<char, 4096> hub{};        // its address, for couplet_join
  std::array<char, 4096> directory{};  // through which files are exchanged, or ""
  // WAITIO_HYBRID_THRESHOLD: messages of at least so many bytes go through files.
  std::int64_t threshold = 0;
};

// Throws Error with a sentence that names the variable and says what would be right.
Settings read_settings();

// Sets the variables of the environment that make couplet_join use the links of these settings, unless the user has
// set them. The destructor restores the environment.
class LinkVariables {
 public:
  explicit LinkVariables(const Settings& settings);
  ~LinkVariables();
  LinkVariables(const LinkVariables&) = delete;
  LinkVariables& operator=(const LinkVariables&) = delete;

 private:
  void set(const char* name, const std::string& value);
  std::vector<const char*> set_;  // the names of those that the destructor removes
};

}  // namespace waitio
