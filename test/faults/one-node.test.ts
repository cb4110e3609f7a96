/** What takes a real node, one after the other on the same one; its tests are in the fixtures. */
import "./nobus.fixture.ts";
import "./real.fixture.ts";
import "./types.fixture.ts";
