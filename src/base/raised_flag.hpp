// A flag that is true for as long as a scope lasts, also if an exception leaves the scope.
#pragma once

namespace couplet {

class RaisedFlag {
 public:
  explicit RaisedFlag(bool& flag) noexcept : flag_(flag) { flag_ = true; }
  ~RaisedFlag() { flag_ = false; }
  RaisedFlag(const RaisedFlag&) = delete;
  RaisedFlag& operator=(const RaisedFlag&) = delete;

 private:
  bool& flag_;
};

}  // namespace couplet
