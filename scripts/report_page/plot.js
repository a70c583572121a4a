// What the page of `hostbridge report` draws with: only this much of Observable Plot is
// shipped, as the global `Plot` of bridge/report/vendor/plot.js.
export {
  areaY, axisX, axisY, barX, dot, gridX, gridY, lineY, plot, pointerX, pointerY, rectY, ruleX,
  ruleY, text, tip
} from "@observablehq/plot";
