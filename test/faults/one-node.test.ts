/**
 * Tests that need a real node, one after another on the same node. The tests are in the fixtures.
 */
import "./nobus.fixture.ts";
import "./real.fixture.ts";
import "./types.fixture.ts";
