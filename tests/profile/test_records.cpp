// The measuring program's records.
#include "generator/profile/records.h"
#include "tests/catch.h"

using namespace tilepost;

TEST_CASE("times count when their step has ended") {
  ProfileLog log;
  log.take("{\"record\": \"machine\", \"gpu\": \"NVIDIA X\", \"gpus\": 2, \"sm\": 90}");
  log.take("{\"record\": \"begin\", \"step\": \"chip\", \"seconds\": 2}");
  log.take("{\"record\": \"time\", \"kind\": \"chip\", \"name\": \"max_ghz\", \"value\": 1.9}");
  log.take("a line of something else");
  CHECK(log.step() == "chip");
  CHECK(log.seconds() == 2);
  CHECK(log.measurements().times.empty());
  log.take("{\"record\": \"begin\", \"step\": \"chip\", \"seconds\": 2}");  // a sign of life
  log.take("{\"record\": \"end\", \"step\": \"chip\"}");
  REQUIRE(log.measurements().times.size() == 1);
  CHECK(log.measurements().times[0].text("name") == "max_ghz");
  CHECK(log.measurements().times[0]["value"] == 1.9);
  CHECK(log.measurements().gpus() == 2);
  CHECK(log.ended().count("chip") == 1);
}

TEST_CASE("a step that failed has no times, until it has ended after all") {
  ProfileLog log;
  log.take("{\"record\": \"begin\", \"step\": \"copies\", \"seconds\": 2}");
  log.take("{\"record\": \"time\", \"kind\": \"copy\", \"us\": 1}");
  log.take("{\"record\": \"failed\", \"step\": \"copies\", \"text\": \"no\"}");
  CHECK(log.measurements().times.empty());
  CHECK(log.measurements().failed.at("copies") == "no");
  log.take("{\"record\": \"begin\", \"step\": \"copies\", \"seconds\": 2}");
  log.take("{\"record\": \"time\", \"kind\": \"copy\", \"us\": 2}");
  log.take("{\"record\": \"end\", \"step\": \"copies\"}");
  CHECK(log.measurements().failed.empty());
  REQUIRE(log.measurements().times.size() == 1);
  CHECK(log.measurements().times[0]["us"] == 2);
}

TEST_CASE("times of a step that was cut short are dropped where it begins again") {
  ProfileLog log;
  log.take("{\"record\": \"begin\", \"step\": \"a\", \"seconds\": 2}");
  log.take("{\"record\": \"time\", \"kind\": \"copy\", \"us\": 1}");
  log.take("{\"record\": \"begin\", \"step\": \"b\", \"seconds\": 2}");
  log.take("{\"record\": \"end\", \"step\": \"b\"}");
  CHECK(log.measurements().times.empty());
}

TEST_CASE("a program that cannot measure says why") {
  ProfileLog log;
  log.take("{\"record\": \"failed\", \"step\": \"\", \"text\": \"no GPU\"}");
  CHECK(log.failure() == "no GPU");
}
